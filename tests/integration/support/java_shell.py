"""Java's shell on the files of a bookie, as an operator runs ``bookkeeper shell``."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from compat_tests.targets.jars import class_path
from compat_tests.targets.jvm import OPENED_PACKAGES, SMALL_JVM, find_jvm, property_flags

_LOG4J_2 = """status=warn
appender.console.type=Console
appender.console.name=console
appender.console.target=SYSTEM_OUT
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%c{1} - %m %X%n
rootLogger.level=info
rootLogger.appenderRef.console.ref=console
"""
"""Newer releases put what they have to say into the log, and its values into the context (``%X``)."""

TIMEOUT_S = 120

PATIENT = {"addEntryTimeoutSec": 30, "readEntryTimeoutSec": 30}
"""For its client: five seconds, which is the default, a JVM may take for its first request on a busy machine."""


def places(metadata_uri: str, journal: object, ledgers: object) -> dict[str, object]:
    """Return the keys that say whose files a shell is for."""
    return {
        "metadataServiceUri": metadata_uri,
        "journalDirectories": journal,
        "ledgerDirectories": ledgers,
        "allowLoopback": "true",
        "advertisedAddress": "127.0.0.1",
    }


class JavaShell:
    """Runs commands with a configuration for ``release``."""

    def __init__(
        self,
        release: str,
        work_dir: Path,
        configuration: dict[str, object],
        *,
        properties: Mapping[str, object] | None = None,
        more_jars: Sequence[Path] = (),
    ) -> None:
        self._release = release
        self._properties = dict(properties or {})
        self._more_jars = tuple(more_jars)
        self._work_dir = work_dir
        work_dir.mkdir()
        (work_dir / "log4j2.properties").write_text(_LOG4J_2, encoding="utf-8")
        text = "".join(f"{key}={value}\n" for key, value in (PATIENT | configuration).items())
        (work_dir / "bk_server.conf").write_text(text, encoding="utf-8")

    def run(self, *arguments: object, exit_code: int | None = 0) -> str:
        """Return what a command says on standard output, the log among it; None takes any exit code."""
        command = [
            str(find_jvm().java),
            "-Xmx256m",
            *SMALL_JVM,
            *OPENED_PACKAGES,
            *property_flags(self._properties),
            f"-Dlog4j2.configurationFile={self._work_dir / 'log4j2.properties'}",
            "-cp",
            ":".join(map(str, (*class_path(self._release), *self._more_jars))),
            "org.apache.bookkeeper.bookie.BookieShell",
            "-conf",
            str(self._work_dir / "bk_server.conf"),
            *map(str, arguments),
        ]
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, text=True, cwd=self._work_dir)
        assert exit_code in (None, done.returncode), (arguments, done.stdout, done.stderr)
        return done.stdout

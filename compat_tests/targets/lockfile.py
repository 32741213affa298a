"""Lock files: which jars a release is made of, each with its sha256.

One line a jar, ``group:artifact:version[:classifier] sha256``; blank lines and lines that start with ``#`` are ignored.
Natives are locked for Linux on x86-64 only; elsewhere netty runs on NIO without them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import attrs

LOCKS = Path(__file__).parent / "locks"

#: Every BookKeeper release that can be started, oldest first.
RELEASES = ("4.9.2", "4.14.7", "4.16.6", "4.17.3", "4.18.0")

#: The newest release whose driver for etcd is published.
WITH_ETCD = "4.17.3"

#: The release of Pulsar whose broker can be started.
PULSAR = "4.0.7"

_LINE = re.compile(
    r"(?P<group>[\w.-]+):(?P<artifact>[\w.-]+):(?P<version>[\w.-]+)(:(?P<classifier>[\w.-]+))? +"
    r"(?P<sha256>[0-9a-f]{64})"
)


class BadLock(ValueError):
    """A lock file has a line that does not name a jar and its sha256; file and line are named."""


@attrs.frozen(order=True)
class Jar:
    """One jar in Maven's coordinates, and what its bytes must hash to."""

    group: str
    artifact: str
    version: str
    classifier: str
    """Empty for the main artifact."""
    sha256: str

    @property
    def coordinate(self) -> str:
        """``group:artifact:version[:classifier]``, as in the lock file."""
        parts = (self.group, self.artifact, self.version, self.classifier)
        return ":".join(part for part in parts if part)


def release_number(release: str) -> tuple[int, ...]:
    """``"4.17.3"`` as ``(4, 17, 3)``, so that releases compare as numbers."""
    return tuple(int(part) for part in release.split("."))


def parse(text: str, name: str = "lock") -> list[Jar]:
    """Read the text of a lock file; raises :class:`BadLock`."""
    jars = []
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise BadLock(f"{name}, line {number}: not 'group:artifact:version[:classifier] sha256': {line!r}")
        fields = match.groupdict(default="")
        jars.append(Jar(**fields))
    coordinates = [jar.coordinate for jar in jars]
    if len(set(coordinates)) != len(coordinates):
        twice = next(c for c in coordinates if coordinates.count(c) > 1)
        raise BadLock(f"{name}: {twice} is locked twice")
    return jars


def render(jars: Iterable[Jar], heading: str) -> str:
    """The text of a lock file, sorted, so that a new lock shows as a small difference."""
    lines = [f"{jar.coordinate} {jar.sha256}" for jar in sorted(jars)]
    return "\n".join([f"# {heading}", *lines]) + "\n"


def bookkeeper_lock(release: str) -> list[Jar]:
    """The jars of a BookKeeper release: its bookie and its client run from the same class path."""
    return read(f"bookkeeper-{release}.lock")


def http_lock(release: str) -> list[Jar]:
    """What the HTTP server and the Prometheus provider of a release need beside its own jars; 4.18.0 alone has one."""
    return read(f"bookkeeper-{release}-http.lock")


def etcd_lock(release: str) -> list[Jar]:
    """What the driver for metadata in etcd needs beside a release's own jars; 4.17.3 alone has one."""
    return read(f"bookkeeper-{release}-etcd.lock")


def pulsar_lock() -> list[Jar]:
    """The jars of the broker of Pulsar, and of the tool that makes the metadata of a cluster."""
    return read(f"pulsar-{PULSAR}.lock")


def read(filename: str) -> list[Jar]:
    """Read a checked-in lock file by its name in ``locks/``."""
    path = LOCKS / filename
    if not path.is_file():
        known = ", ".join(sorted(lock.name for lock in LOCKS.glob("*.lock")))
        raise BadLock(f"there is no {filename}; there are: {known}")
    return parse(path.read_text(encoding="utf-8"), filename)

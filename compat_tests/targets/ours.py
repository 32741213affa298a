"""Our bookie as a target: one process a site, over SQLite or a ZooKeeper."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path
from typing import Any

from compat_tests.targets.cluster import Cluster
from compat_tests.targets.options import TargetOptions
from compat_tests.targets.shared_zookeeper import SharedZooKeeper
from compat_tests.targets.started_target import Recipe, StartedTarget
from compat_tests.targets.twistd_bookie import TwistdBookie
from compat_tests.targets.unavailable import Unavailable, must_be_there

DISTRIBUTION = "bookkeeper_tx"


class RegisteredBookie(TwistdBookie):
    """A bookie in a ZooKeeper: a kill also removes its registration, or its next start would wait until it expires."""

    def __init__(self, cluster: Cluster, work_dir: Path, **options: Any) -> None:
        super().__init__(cluster.uri, work_dir, **options)
        self._cluster = cluster

    def kill(self) -> None:
        """End it with SIGKILL."""
        if self.process.running:
            super().kill()
            self._cluster.unregister(self.bookie_id)


class OurTarget(StartedTarget):
    """``twistd bookie``; starts in less than a second."""

    implementation = DISTRIBUTION

    def __init__(self, options: TargetOptions | None = None) -> None:
        super().__init__()
        self._options = options or TargetOptions()
        self._zookeeper = SharedZooKeeper(self.lifetime) if self._options.with_metadata else None
        self._store = "ZooKeeper" if self._options.with_metadata else "SQLite"

    @property
    def name(self) -> str:
        """For headings."""
        return f"{DISTRIBUTION} {self.release}".strip()

    @property
    def release(self) -> str:
        """The version that is installed."""
        try:
            return importlib.metadata.version(DISTRIBUTION)
        except importlib.metadata.PackageNotFoundError:
            return ""

    @property
    def how(self) -> str:
        """How it is run."""
        launched = f", launched by {' '.join(self._options.launcher)}" if self._options.launcher else ""
        return f"twistd bookie as a process{launched}, metadata in {self._store}"

    @property
    def cluster(self) -> Cluster | None:
        """The ZooKeeper root, with ``with_metadata`` where one can be had."""
        zookeeper = self._zookeeper  # another thread may find that there is none
        try:
            return zookeeper.common if zookeeper else None
        except Unavailable as missing:
            self._go_without_zookeeper(missing)
            return None

    def new_cluster(self) -> Cluster | None:
        """A root of its own, with ``with_metadata`` where one can be had."""
        zookeeper = self._zookeeper
        try:
            return zookeeper.new_cluster() if zookeeper else None
        except Unavailable as missing:
            self._go_without_zookeeper(missing)
            return None

    def _go_without_zookeeper(self, missing: Unavailable) -> None:
        if must_be_there():
            raise missing
        self._zookeeper = None
        self._store = f"SQLite ({missing.reason})"

    def make_bookie(self, cluster: Cluster | None, folder: Path, recipe: Recipe) -> TwistdBookie:
        """A process that has not been started."""
        settings, launcher = {**recipe.settings, **recipe.jaas}, self._options.launcher
        if cluster is not None:
            return RegisteredBookie(cluster, folder, settings=settings, launcher=launcher)
        return TwistdBookie(f"sqlite://{folder / 'metadata.db'}", folder, settings=settings, launcher=launcher)

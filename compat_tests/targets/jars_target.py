"""A Java bookie as a target: its locked jars on a local JVM, one process a site."""

from __future__ import annotations

from pathlib import Path

from compat_tests.targets.cluster import Cluster
from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.java.instance import JavaInstance
from compat_tests.targets.jvm import find_jvm
from compat_tests.targets.shared_zookeeper import SharedZooKeeper
from compat_tests.targets.started_target import Recipe, StartedTarget
from compat_tests.targets.unavailable import Unavailable

#: Java's class, by the name on the command line.
STORAGES = {"sorted": "SortedLedgerStorage", "interleaved": "InterleavedLedgerStorage", "db": "DbLedgerStorage"}


class JarsTarget(StartedTarget):
    """One release, one kind of ledger storage."""

    implementation = "java"

    def __init__(self, release: str, storage: str = "sorted") -> None:
        super().__init__()
        self.release = release
        self._storage = storage
        self._zookeeper = SharedZooKeeper(self.lifetime)

    @property
    def name(self) -> str:
        """For headings; the storage is named where it is not Java's default."""
        return f"Java {self.release}" + (f" ({STORAGES[self._storage]})" if self._storage != "sorted" else "")

    @property
    def how(self) -> str:
        """How it is run."""
        try:
            jvm = find_jvm().origin
        except Unavailable as missing:
            jvm = missing.reason
        return f"jars on a local JVM ({jvm}), {STORAGES[self._storage]}"

    @property
    def cluster(self) -> Cluster:
        """The root of the shared sites."""
        return self._zookeeper.common

    def new_cluster(self) -> Cluster:
        """A root of its own."""
        return self._zookeeper.new_cluster()

    def make_bookie(self, cluster: Cluster | None, folder: Path, recipe: Recipe) -> JavaInstance:
        """A JVM that has not been started; its jars are fetched when it is."""
        bookie = JavaBookie(
            self.release,
            cluster or self.new_cluster(),
            folder,
            storage=self._storage,
            settings=recipe.settings,
            properties=recipe.jaas,
        )
        return JavaInstance(bookie, recipe.read_only)

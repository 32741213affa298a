"""A Java bookie as what is judged: its locked jars on a local JVM, one process a site."""

from __future__ import annotations

from pathlib import Path

from compat_tests.targets.cluster import Cluster
from compat_tests.targets.java_bookie import JavaBookie
from compat_tests.targets.jvm import find_jvm
from compat_tests.targets.shared_zookeeper import SharedZooKeeper
from compat_tests.targets.started_target import Recipe, StartedTarget
from compat_tests.targets.unavailable import Unavailable

#: Name on the command line to the class of Java's.
STORAGES = {"sorted": "SortedLedgerStorage", "interleaved": "InterleavedLedgerStorage", "db": "DbLedgerStorage"}


class JavaInstance:
    """A :class:`JavaBookie` in the words of :class:`compat_tests.targets.sites.Instance`."""

    def __init__(self, bookie: JavaBookie, read_only: bool) -> None:
        self.bookie = bookie
        self._read_only = read_only

    def start(self) -> tuple[str, int]:
        """Start it and wait until it serves and is registered."""
        self.bookie.start(read_only=self._read_only)
        return "127.0.0.1", self.bookie.port

    def stop(self) -> None:
        """End it with SIGTERM."""
        self.bookie.stop()

    def kill(self) -> None:
        """End it with SIGKILL; its registration goes at once, or it would wait for that when it starts again."""
        if self.bookie.process.running:
            self.bookie.kill(expire=True)


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

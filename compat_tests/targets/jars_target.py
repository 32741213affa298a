"""A Java bookie as a target: its locked jars, one process a site, on a local JVM if nothing else is to run them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from compat_tests.targets.cluster import Cluster
from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.java.instance import JavaInstance
from compat_tests.targets.java_program import bookkeeper
from compat_tests.targets.java_runner import JavaRunner, LocalJvm
from compat_tests.targets.lifetime import Lifetime
from compat_tests.targets.shared_zookeeper import SharedZooKeeper
from compat_tests.targets.sites import Instance
from compat_tests.targets.started_target import Recipe, StartedTarget

#: Java's class, by the name on the command line.
STORAGES = {"sorted": "SortedLedgerStorage", "interleaved": "InterleavedLedgerStorage", "db": "DbLedgerStorage"}


class JarsTarget(StartedTarget):
    """One release, one kind of ledger storage.

    :param make_runner: who runs its bookies and their ZooKeeper, and ends with the target
    """

    implementation = "java"

    def __init__(
        self,
        release: str,
        storage: str = "sorted",
        make_runner: Callable[[Lifetime], JavaRunner] = lambda _: LocalJvm(),
    ) -> None:
        super().__init__()
        self.release = release
        self._storage = storage
        self._runner = make_runner(self.lifetime)
        self._zookeeper = SharedZooKeeper(self.lifetime, self._runner)

    @property
    def name(self) -> str:
        """For headings; the storage is named where it is not Java's default."""
        return f"Java {self.release}" + (f" ({STORAGES[self._storage]})" if self._storage != "sorted" else "")

    @property
    def how(self) -> str:
        """How it is run; looks for what runs it."""
        return f"{self._runner.how(bookkeeper(self.release))}, {STORAGES[self._storage]}"

    @property
    def cluster(self) -> Cluster:
        """The root of the shared sites."""
        return self._zookeeper.common

    def new_cluster(self) -> Cluster:
        """A root of its own."""
        return self._zookeeper.new_cluster()

    def make_bookie(self, cluster: Cluster | None, folder: Path, recipe: Recipe) -> JavaInstance:
        """A bookie that has not been started; its jars or its image are fetched when it is."""
        bookie = JavaBookie(
            self.release,
            cluster or self.new_cluster(),
            folder,
            storage=self._storage,
            settings=recipe.settings,
            properties=recipe.jaas,
            runner=self._runner,
        )
        return JavaInstance(bookie, recipe.read_only)

    def discard(self, instance: Instance) -> None:
        """End it at once, with what it runs in."""
        super().discard(instance)
        if isinstance(instance, JavaInstance):
            instance.bookie.remove()

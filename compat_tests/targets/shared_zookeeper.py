"""One ZooKeeper for a target, started when its first cluster is asked for."""

from __future__ import annotations

import threading
from functools import partial

from compat_tests.targets.cluster import Cluster
from compat_tests.targets.java.targets import new_cluster
from compat_tests.targets.java_runner import JavaRunner
from compat_tests.targets.lifetime import Lifetime
from compat_tests.targets.zookeeper import ZooKeeper


class SharedZooKeeper:
    """Outlives the bookies that are registered in it: they unregister as they stop."""

    def __init__(self, lifetime: Lifetime, runner: JavaRunner | None = None) -> None:
        self._lifetime = lifetime
        self._runner = runner
        self._lock = threading.RLock()
        self._server: ZooKeeper | None = None
        self._common: Cluster | None = None

    @property
    def common(self) -> Cluster:
        """The cluster of the shared sites. Raises ``Unavailable`` without a JVM or pyspark's jars."""
        with self._lock:
            if self._common is None:
                self._common = self.new_cluster()
            return self._common

    def new_cluster(self) -> Cluster:
        """An empty cluster under a root of its own."""
        with self._lock:
            if self._server is None:
                server = ZooKeeper(self._lifetime.directory("zookeeper"), runner=self._runner)
                self._lifetime.finally_do(server.remove)
                self._lifetime.run(partial(server.start))
                self._server = server
            return new_cluster(self._server)

"""A cluster of any layout in a ZooKeeper."""

import attrs

from compat_tests.targets.cluster import Cluster


@attrs.frozen
class LaidOutCluster(Cluster):
    """A cluster that our store makes, or Java's shell."""

    layout: str = "hierarchical"

    @property
    def uri(self) -> str:
        return f"zk+{self.layout}://{self.zookeeper}{self.root}"

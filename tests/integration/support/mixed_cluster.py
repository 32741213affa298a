"""Two bookies of ours and one of Java's in one cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.cluster import Cluster
from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.java.client import JavaClient
from compat_tests.targets.java.targets import JavaTargets, new_cluster
from compat_tests.targets.zookeeper import ZooKeeper
from tests.integration.support.our_client import OurClient


@frozen
class MixedCluster:
    """The bookies, and a client of each kind."""

    cluster: Cluster
    our_bookies: LocalCluster
    java_bookie: JavaBookie
    java_targets: JavaTargets
    java: JavaClient
    ours: OurClient

    @property
    def bookie_ids(self) -> set[str]:
        return {*self.our_bookies.bookie_ids, self.java_bookie.bookie_id}


@contextmanager
def mixed_cluster(zookeeper: ZooKeeper, release: str, work_dir: Path, our_count: int = 2) -> Iterator[MixedCluster]:
    """Start them; the Java client speaks V2, which batch read needs."""
    cluster = new_cluster(zookeeper)
    with (
        LocalCluster(work_dir / "ours", our_count, metadata_uri=cluster.uri) as our_bookies,
        JavaTargets(cluster, work_dir / "java") as targets,
        OurClient(cluster.uri) as ours,
    ):
        bookie = targets.bookie(release)
        yield MixedCluster(cluster, our_bookies, bookie, targets, targets.client(release, v2=True), ours)

"""Flat clusters, one made by us, one by Java: each writes, reads, lists and collects what the other has made."""

import re
import uuid
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from bookkeeper_tx import blocking
from bookkeeper_tx.metadata.zookeeper.paths import FLAT
from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.java.targets import JavaTargets
from compat_tests.targets.zookeeper import ZooKeeper
from tests.cli.bktx_process import bktx
from tests.integration.support.both_sides import are_collected, both_use_it, listed
from tests.integration.support.java_shell import JavaShell
from tests.integration.support.laid_out_cluster import LaidOutCluster
from tests.integration.support.our_client import poll

pytestmark = [pytest.mark.java, pytest.mark.releases(since="4.18")]

LAYOUT = b"2\norg.apache.bookkeeper.meta.FlatLedgerManagerFactory:1"
COLLECTING = {"gcWaitTime": 500, "flushInterval": 200}


@pytest.fixture
def cluster(zookeeper: ZooKeeper) -> LaidOutCluster:
    return LaidOutCluster(zookeeper.hosts, f"/flat-{uuid.uuid4()}", FLAT)


def shell(cluster: LaidOutCluster, release: str, tmp_path: Path) -> JavaShell:
    return JavaShell(release, tmp_path / "shell", {"metadataServiceUri": cluster.uri})


def nodes(cluster: LaidOutCluster) -> tuple[bytes, list[str]]:
    """Return what is in LAYOUT, and the names of the ledgers' nodes."""
    client = KazooClient(cluster.zookeeper)
    client.start(10)
    try:
        children = client.get_children(cluster.root)
        return client.get(f"{cluster.root}/LAYOUT")[0], sorted(each for each in children if re.fullmatch(r"L\d+", each))
    finally:
        client.stop()
        client.close()


@pytest.mark.full
def test_java_works_on_a_flat_cluster_of_ours(java_release: str, cluster: LaidOutCluster, tmp_path: Path) -> None:
    made = bktx("cluster", "init", "--metadata", cluster.uri)
    assert made.returncode == 0, made.stderr
    with (
        LocalCluster(tmp_path / "ours", 1, metadata_uri=cluster.uri, settings=COLLECTING) as bookies,
        JavaTargets(cluster, tmp_path / "java") as targets,
        blocking.BookKeeper(cluster.uri) as ours,
    ):
        java = targets.client(java_release)
        left, gone = both_use_it(ours, java)
        assert nodes(cluster) == (LAYOUT, [f"L{each:010d}" for each in left])
        assert poll(lambda: are_collected(java, bookies.bookie_ids[0], gone), timeout_s=60, interval_s=0.5)
        assert not are_collected(java, bookies.bookie_ids[0], left[:1])
        assert listed(shell(cluster, java_release, tmp_path)) == left


@pytest.mark.full
def test_we_work_on_a_flat_cluster_of_java(java_release: str, cluster: LaidOutCluster, tmp_path: Path) -> None:
    java_shell = shell(cluster, java_release, tmp_path)
    java_shell.run("initnewcluster")
    with JavaTargets(cluster, tmp_path / "java") as targets:
        bookie = targets.bookie(java_release, storage="interleaved", settings=COLLECTING)
        java = targets.client(java_release)
        with blocking.BookKeeper(f"zk://{cluster.zookeeper}{cluster.root}") as ours:
            left, gone = both_use_it(ours, java)
        assert nodes(cluster) == (LAYOUT, [f"L{each:010d}" for each in left])
        assert poll(lambda: are_collected(java, bookie.bookie_id, gone), timeout_s=60, interval_s=0.5)
        assert not are_collected(java, bookie.bookie_id, left[:1])
        assert listed(java_shell) == left
        found = bktx("ledger", "list", BKTX_METADATA=cluster.uri)
        assert found.returncode == 0, found.stderr
        assert all(str(each) in found.stdout.decode() for each in left)

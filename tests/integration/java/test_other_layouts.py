"""Clusters that are not of the default layout, one made by us, one by Java: each writes, reads, lists and collects what
the other has made."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx import blocking
from bookkeeper_tx.metadata.zookeeper.paths import FLAT, LONG_HIERARCHICAL
from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.cluster import session
from compat_tests.targets.java.targets import JavaTargets
from compat_tests.targets.zookeeper import ZooKeeper
from tests.cli.bktx_process import bktx
from tests.integration.support.both_sides import are_collected, both_use_it, listed
from tests.integration.support.java_shell import JavaShell
from tests.integration.support.laid_out_cluster import LaidOutCluster
from tests.integration.support.our_client import poll

pytestmark = [pytest.mark.java, pytest.mark.full, pytest.mark.releases(since="4.18")]

COLLECTING = {"gcWaitTime": 500, "flushInterval": 200}

FACTORY_CLASSES = {FLAT: b"FlatLedgerManagerFactory", LONG_HIERARCHICAL: b"LongHierarchicalLedgerManagerFactory"}


@pytest.fixture(params=[FLAT, LONG_HIERARCHICAL])
def cluster(zookeeper: ZooKeeper, request: pytest.FixtureRequest) -> LaidOutCluster:
    return LaidOutCluster(zookeeper.hosts, f"/{request.param}-{uuid.uuid4()}", request.param)


def shell(cluster: LaidOutCluster, release: str, tmp_path: Path) -> JavaShell:
    return JavaShell(release, tmp_path / "shell", {"metadataServiceUri": cluster.uri})


def have_long_ids_from_now_on(cluster: LaidOutCluster) -> None:
    """Make the node that is there when the ids of 31 bits have run out."""
    with session(cluster.zookeeper) as client:
        client.create(f"{cluster.root}/idgen-long/HOB-0000000001", makepath=True)


def check_nodes(cluster: LaidOutCluster, ledger_ids: list[int]) -> None:
    """Look at what is in LAYOUT, and that there are nodes for exactly these ledgers."""
    with session(cluster.zookeeper) as client:
        layout, _ = client.get(f"{cluster.root}/LAYOUT")
        found = sorted(_ledger_nodes(client, cluster.root))
    assert layout == b"2\norg.apache.bookkeeper.meta." + FACTORY_CLASSES[cluster.layout] + b":1"
    assert found == [f"{cluster.root}/{_place(cluster.layout, each)}" for each in ledger_ids]


def _ledger_nodes(client: Any, folder: str) -> Iterator[str]:
    for name in client.get_children(folder):
        if name.isdecimal():
            yield from _ledger_nodes(client, f"{folder}/{name}")
        elif name[:1] == "L" and name[1:].isdecimal():
            yield f"{folder}/{name}"


def _place(layout: str, ledger_id: int) -> str:
    if layout == FLAT:
        return f"L{ledger_id:010d}"
    digits = f"{ledger_id:019d}"
    return "/".join([digits[:3], digits[3:7], digits[7:11], digits[11:15], "L" + digits[15:]])


def test_java_works_on_a_cluster_of_ours(java_release: str, cluster: LaidOutCluster, tmp_path: Path) -> None:
    made = bktx("cluster", "init", "--metadata", cluster.uri)
    assert made.returncode == 0, made.stderr
    if cluster.layout == LONG_HIERARCHICAL:
        have_long_ids_from_now_on(cluster)
    with (
        LocalCluster(tmp_path / "ours", 1, metadata_uri=cluster.uri, settings=COLLECTING) as bookies,
        JavaTargets(cluster, tmp_path / "java") as targets,
        blocking.BookKeeper(cluster.uri) as ours,
    ):
        java = targets.client(java_release)
        left, gone = both_use_it(ours, java)
        check_nodes(cluster, left)
        assert (left[0] >= 2**32) == (cluster.layout == LONG_HIERARCHICAL)
        assert poll(lambda: are_collected(java, bookies.bookie_ids[0], gone), timeout_s=60, interval_s=0.5)
        assert not are_collected(java, bookies.bookie_ids[0], left[:1])
        assert listed(shell(cluster, java_release, tmp_path)) == left


def test_we_work_on_a_cluster_of_java(java_release: str, cluster: LaidOutCluster, tmp_path: Path) -> None:
    java_shell = shell(cluster, java_release, tmp_path)
    java_shell.run("initnewcluster")
    with JavaTargets(cluster, tmp_path / "java") as targets:
        bookie = targets.bookie(java_release, storage="interleaved", settings=COLLECTING)
        java = targets.client(java_release)
        with blocking.BookKeeper(f"zk://{cluster.zookeeper}{cluster.root}") as ours:
            left, gone = both_use_it(ours, java)
        check_nodes(cluster, left)
        assert poll(lambda: are_collected(java, bookie.bookie_id, gone), timeout_s=60, interval_s=0.5)
        assert not are_collected(java, bookie.bookie_id, left[:1])
        assert listed(java_shell) == left
        found = bktx("ledger", "list", BKTX_METADATA=cluster.uri)
        assert found.returncode == 0, found.stderr
        assert all(str(each) in found.stdout.decode() for each in left)

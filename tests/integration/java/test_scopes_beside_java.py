"""Scoped ledgers and documents in the metadata of a cluster that Java serves: Java behaves as without them.

For each of Java's ledgers there is a scoped one with the same lower half, so that mistaking one for the other shows.
The names of the documents could be those of ledgers, if they stood elsewhere.
"""

import subprocess
import uuid
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from twisted.internet import reactor

from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.metadata.zookeeper.paths import FLAT, HIERARCHICAL, LONG_HIERARCHICAL
from bookkeeper_tx.model import DigestType, Fragment, LedgerId, LedgerMetadata
from compat_tests.targets.cluster import Cluster
from compat_tests.targets.jars import class_path
from compat_tests.targets.java.driver_process import JavaError
from compat_tests.targets.java.targets import JavaTargets
from compat_tests.targets.jvm import OPENED_PACKAGES, find_jvm
from compat_tests.targets.lockfile import release_number
from compat_tests.targets.zookeeper import ZooKeeper
from protocol_specs.metadata import layout as spec
from tests.integration.support.laid_out_cluster import LaidOutCluster
from tests.integration.support.our_client import poll
from tests.reactor_thread import run_in_reactor

pytestmark = pytest.mark.java

SCOPES = (1, -5, 2**63 - 1)
FORMAT_FORGETS_IDS = (4, 10)
"""The first release whose format command deletes the nodes of the id generator."""

DILIGENT = {
    "gcWaitTime": 1000,
    "autoRecoveryDaemonEnabled": "true",
    "auditorPeriodicCheckInterval": 1,
}
"""A bookie that collects garbage every second, and in whose process an auditor looks at all ledgers every second."""


@pytest.mark.full
@pytest.mark.parametrize("layout", [HIERARCHICAL, LONG_HIERARCHICAL, FLAT])
def test_java_passes_scoped_ledgers_by(java_release: str, layout: str, zookeeper: ZooKeeper, tmp_path: Path) -> None:
    cluster = LaidOutCluster(zookeeper.hosts, f"/{uuid.uuid4()}/ledgers", layout)
    assert on_store(cluster, lambda store: store.initialize()) is True
    with JavaTargets(cluster, tmp_path) as targets:
        bookie = targets.bookie(java_release, storage="interleaved", settings=DILIGENT)
        client = targets.client(java_release)
        kept, gone = client.create_ledger(), client.create_ledger()
        for ledger in (kept, gone):
            ledger.append_many(3, 100)
            ledger.close()
        java_ids = [kept.ledger_id, gone.ledger_id]
        scoped = on_store(cluster, lambda store: creates_scoped(store, [*java_ids, 2**40, -1], bookie.bookie_id))
        documents = publishes(cluster, java_ids)
        assert sorted(client.ledgers()) == java_ids
        looks_at_all_ledgers_again(zookeeper, cluster)
        client.delete_ledger(gone.ledger_id)
        assert poll(lambda: is_collected(client, bookie.bookie_id, gone.ledger_id), timeout_s=60, interval_s=0.5)
        assert [len(each) for each in client.open_ledger(kept.ledger_id).read(0, 2)] == [100] * 3
        assert client.create_ledger().ledger_id not in java_ids
        assert on_store(cluster, lambda store: store.list_ledgers(0)) == sorted(client.ledgers())
        everything = on_store(cluster, lambda store: store.list_ledgers(None))
        assert [each for each in everything if each >= min(scoped)] == scoped
        # The auditor may look at a ledger between its end and its collection.
        assert poll(lambda: under_replicated(zookeeper, cluster) == [])
        assert published(cluster) == documents
        bookie.stop()
    formats(java_release, cluster, tmp_path)
    left = with_zookeeper(zookeeper, lambda client: client.get_children(cluster.root))
    assert not any(each.isdecimal() for each in left)
    assert (spec.DOCUMENTS in left) == (spec.SCOPED in left) == (release_number(java_release) < FORMAT_FORGETS_IDS)


def on_store(cluster: Cluster, work: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
    async def run() -> Any:
        store = open_metadata_store(cluster.uri, reactor)
        await store.start()
        try:
            return await work(store)
        finally:
            await store.stop()

    return run_in_reactor(run, timeout_s=60)


async def creates_scoped(store: Any, halves: list[int], bookie_id: str) -> list[int]:
    ids = sorted(LedgerId(half, scope_id) for scope_id in SCOPES for half in halves)
    metadata = LedgerMetadata(1, 1, 1, [Fragment(0, (bookie_id,))], DigestType.CRC32C, b"pw")
    for ledger_id in ids:
        created = await store.create_ledger(ledger_id, metadata)
        await store.write_ledger(ledger_id, created.metadata.with_close(4, 50), created.version)
    return ids


def publishes(cluster: Cluster, ledger_ids: list[int]) -> list[str]:
    """Create documents, and return the names of those published below the first of them."""
    with open_blocking_store(cluster.uri) as store:
        for ledger_id in ledger_ids:
            names = (f"{ledger_id:03}", "0000", "0000", "0000", f"L{ledger_id:04}")
            for count in range(1, len(names)):
                store.create_document(names[:count] + names[-1:], b"published")
    return published(cluster)


def published(cluster: Cluster) -> list[str]:
    with open_blocking_store(cluster.uri) as store:
        return [name for first in store.list_documents(()) for name in (first, *store.list_documents((first,)))]


def is_collected(client: Any, bookie_id: str, ledger_id: int) -> bool:
    try:
        client.list_entries(bookie_id, ledger_id)
    except JavaError:
        return True
    return False


def looks_at_all_ledgers_again(zookeeper: ZooKeeper, cluster: Cluster) -> None:
    """Wait until the auditor has finished looking at all ledgers, as they are now."""
    looked = f"{cluster.root}/underreplication/checkallledgersctime"

    def version(client: Any) -> int:
        stat = client.exists(looked)
        return -1 if stat is None else int(stat.version)

    def work(client: Any) -> None:
        before = version(client)
        assert poll(lambda: version(client) > before, timeout_s=60)

    with_zookeeper(zookeeper, work)


def under_replicated(zookeeper: ZooKeeper, cluster: Cluster) -> list[str]:
    def work(client: Any) -> list[str]:
        found, left = [], [f"{cluster.root}/underreplication/ledgers"]
        while left:
            path = left.pop()
            children = client.get_children(path)
            left += [f"{path}/{each}" for each in children]
            found += [each for each in children if each.startswith("urL")]
        return found

    return with_zookeeper(zookeeper, work)


def with_zookeeper(zookeeper: ZooKeeper, work: Callable[[Any], Any]) -> Any:
    client = KazooClient(zookeeper.hosts)
    client.start(10)
    try:
        return work(client)
    finally:
        client.stop()
        client.close()


def formats(release: str, cluster: Cluster, work_dir: Path) -> None:
    """Have Java's shell delete the cluster's metadata, as operators do before a new start."""
    configuration = work_dir / "format.conf"
    configuration.write_text(f"metadataServiceUri={cluster.uri}\n")
    shell = [
        "org.apache.bookkeeper.bookie.BookieShell",
        "-conf",
        configuration,
        "metaformat",
        "-force",
        "-nonInteractive",
    ]
    command = find_jvm().command(*OPENED_PACKAGES, "-cp", ":".join(map(str, class_path(release))), *shell, heap_mb=128)
    done = subprocess.run(command, capture_output=True, timeout=90)
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-2000:]

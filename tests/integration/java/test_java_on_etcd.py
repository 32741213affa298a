"""Metadata in etcd beside Java's driver: its shell, bookie and client on what ours writes, and the other way round."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from twisted.internet import reactor

from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.model import LedgerId, LedgerState
from compat_tests.targets.etcd import Etcd
from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.java.client import JavaClient
from compat_tests.targets.payloads import hash_of, patterns
from compat_tests.targets.twistd_bookie import TwistdBookie
from tests.integration.support.etcd_cluster import EtcdCluster
from tests.integration.support.our_client import OurClient, append_and_close, poll, read, wait_for
from tests.metadata.contract import METADATA, SCOPE_ID
from tests.reactor_thread import run_in_reactor

pytestmark = [pytest.mark.java, pytest.mark.etcd]

COUNT = 300
PAYLOADS = patterns(COUNT, 100, seed=5)


@pytest.fixture(scope="module")
def cluster(etcd: Etcd) -> EtcdCluster:
    """One that ours has made."""
    uri = f"etcd://{etcd.hosts}/{uuid.uuid4()}"

    async def initialize() -> None:
        store = open_metadata_store(uri, reactor)
        await store.start()
        await store.initialize()
        await store.stop()

    run_in_reactor(initialize)
    return EtcdCluster(uri)


@pytest.fixture(scope="module")
def java_bookie(cluster: EtcdCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaBookie]:
    with cluster.java_bookie(tmp_path_factory.mktemp("java-bookie")) as bookie:
        yield bookie


@pytest.fixture(scope="module")
def our_bookie(cluster: EtcdCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwistdBookie]:
    bookie = TwistdBookie(cluster.uri, tmp_path_factory.mktemp("our-bookie"))
    bookie.start()
    yield bookie
    bookie.stop()


@pytest.fixture(scope="module")
def java(
    cluster: EtcdCluster, java_bookie: JavaBookie, our_bookie: TwistdBookie, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[JavaClient]:
    folder = tmp_path_factory.mktemp("java-client")
    with cluster.java_client(folder) as client:
        yield client


@pytest.mark.full
def test_bookies_of_both_are_seen_by_both(
    cluster: EtcdCluster, java_bookie: JavaBookie, our_bookie: TwistdBookie, java: JavaClient
) -> None:
    both = {java_bookie.bookie_id, our_bookie.bookie_id}
    with open_blocking_store(cluster.uri) as store:
        assert store.writable_bookies() == store.cookie_bookies() == both
        assert store.bookie_info(java_bookie.bookie_id).port == java_bookie.port
    assert java.bookies().keys() == both


def test_what_ours_writes_java_reads_closes_and_deletes(cluster: EtcdCluster, java: JavaClient) -> None:
    with OurClient(cluster.uri) as ours:
        closed = append_and_close(ours.create_ledger(2, 2, 2, custom={"k": b"\0v"}), PAYLOADS)
        reader = java.open_ledger(closed)
        assert reader.read_hash(0, COUNT - 1) == (COUNT, hash_of(PAYLOADS))
        assert java.metadata(closed).custom == {"k": b"\0v"}
        writer = ours.create_ledger(2, 2, 2)
        wait_for(writer.append, b"open")
        assert java.open_ledger(writer.ledger_id).read(0, 0) == [b"open"]
        assert ours.metadata(writer.ledger_id).state is LedgerState.CLOSED
        assert {closed, writer.ledger_id} <= set(java.ledgers())
        java.delete_ledger(closed)
    with open_blocking_store(cluster.uri) as store:
        assert closed not in store.list_ledgers()


def test_what_java_writes_ours_reads_closes_and_deletes(cluster: EtcdCluster, java: JavaClient) -> None:
    closed = java.create_ledger(2, 2, 2)
    closed.append_many(COUNT, 100, seed=5)
    closed.close()
    writer = java.create_ledger(2, 2, 2)
    writer.append(b"open")
    with OurClient(cluster.uri) as ours:
        assert read(ours.open_ledger(closed.ledger_id), 0, COUNT - 1) == PAYLOADS
        assert read(ours.open_ledger(writer.ledger_id), 0, 0) == [b"open"]
        assert java.metadata(writer.ledger_id).state == "CLOSED"
        wait_for(ours.bookkeeper.delete_ledger, closed.ledger_id)
    assert closed.ledger_id not in java.ledgers()


@pytest.mark.full
def test_ids_of_both_are_never_the_same(cluster: EtcdCluster, java: JavaClient) -> None:
    # Java begins with any of the 128 buckets and takes them in turn: the one that ours uses is among them.
    made = [java.create_ledger().ledger_id for _ in range(130)]
    with open_blocking_store(cluster.uri) as store:
        given = [store.new_ledger_id() for _ in range(3)]
        assert len({*made, *given, *store.list_ledgers()}) == len(given) + len(store.list_ledgers())
    assert len({ledger_id >> 56 for ledger_id in made}) == 128


@pytest.mark.full
def test_what_is_ours_alone_does_not_disturb_java(cluster: EtcdCluster, java: JavaClient) -> None:
    scoped = LedgerId(7, SCOPE_ID)
    with open_blocking_store(cluster.uri) as store:
        store.create_ledger(scoped, METADATA)
        store.write_record(("logs", "a", "list"), b"x", None)
        store.create_document(("sink", "1"), b"x")
        assert java.ledgers() == store.list_ledgers()
        assert scoped in store.list_ledgers(None)


@pytest.mark.full
def test_a_bookie_that_goes_is_gone_for_both(cluster: EtcdCluster, java: JavaClient, tmp_path: Path) -> None:
    bookie = TwistdBookie(cluster.uri, tmp_path)
    bookie.start()
    with OurClient(cluster.uri) as ours:
        known = ours.bookkeeper._context.store.writable_bookies
        assert bookie.bookie_id in wait_for(known)
        assert poll(lambda: bookie.bookie_id in java.bookies())
        bookie.stop()
        assert bookie.bookie_id not in wait_for(known)
        assert poll(lambda: bookie.bookie_id not in java.bookies())


@pytest.mark.full
def test_javas_shell_makes_a_cluster_for_ours_and_reads_that_of_ours(
    etcd: Etcd, cluster: EtcdCluster, java: JavaClient, tmp_path: Path
) -> None:
    fresh = EtcdCluster(f"etcd://{etcd.hosts}/{uuid.uuid4()}")
    fresh.java_shell(tmp_path / "fresh").run("initnewcluster")
    with open_blocking_store(fresh.uri) as store:
        assert len(store.instance_id() or "") == 36
        assert store.create_ledger(store.new_ledger_id(), METADATA).version == 0
    shell = cluster.java_shell(tmp_path / "shell")
    with OurClient(cluster.uri) as ours:
        ledger_id = append_and_close(ours.create_ledger(), [b"x"])
    assert f"ledgerID: {ledger_id}" in shell.run("ledgermetadata", "-ledgerid", ledger_id)
    with open_blocking_store(cluster.uri) as store:
        assert str(store.instance_id()) in shell.run("whatisinstanceid")

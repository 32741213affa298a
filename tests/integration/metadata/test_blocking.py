"""The blocking metadata store beside the store of the reactor: a real ZooKeeper, real files, real processes."""

import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from twisted.internet import reactor
from twisted.internet.defer import Deferred, ensureDeferred, succeed

from bookkeeper_tx.cli.bench.planning_stores import ZooKeeperPlanning
from bookkeeper_tx.errors import MetadataUnavailable, NoSuchLedger
from bookkeeper_tx.metadata.blocking.store import BlockingStore, open_blocking_store
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.model import LedgerId
from compat_tests.targets.etcd import Etcd
from compat_tests.targets.zookeeper import ZooKeeper
from protocol_specs.metadata import ledger as spec
from tests.integration.metadata.fault_scenarios import registered_process
from tests.integration.metadata.real_clusters import STORES, RealCluster, real_cluster
from tests.integration.support.our_client import poll
from tests.metadata import bookie_scenarios, contract, ledger_scenarios, record_scenarios  # noqa: F401 -- they add
from tests.metadata.blocking.test_store import modules_loaded_by_use
from tests.metadata.contract import INFO, METADATA, OTHER_INFO, SCOPE_ID
from tests.reactor_thread import run_in_reactor

READS = frozenset(
    {
        *("instance_id", "read_ledger", "list_ledgers", "read_record", "list_records"),
        *("writable_bookies", "read_only_bookies", "bookie_info"),
    }
)
CHANGES = frozenset(
    {"new_ledger_id", "create_ledger", "write_ledger", "delete_ledger", "write_record", "delete_record"}
)
SCENARIOS = [each for each in contract.SCENARIOS if each.id != "after_stop_everything_fails_at_once"]
LEDGERS = 3000


class MixedStore:
    """A store of the reactor, some of whose methods are those of a blocking store of the same cluster."""

    def __init__(self, uri: str, twisted: Any, blocking: frozenset[str]) -> None:
        self._uri = uri
        self._twisted = twisted
        self._blocking = blocking
        self._store: BlockingStore | None = None
        self._first_look: Deferred[Any] = succeed(None)

    def __getattr__(self, name: str) -> Any:
        if name not in self._blocking:
            return getattr(self._twisted, name)
        return lambda *args: ensureDeferred(self._ask(name, *args))

    def watch_ledger(self, ledger_id: int, changed: Callable[[], None]) -> Callable[[], None]:
        """Watch, and have the next blocking call come after the first look, as each call of the other store does."""
        end: Callable[[], None] = self._twisted.watch_ledger(ledger_id, changed)
        self._first_look = self._twisted.read_ledger(ledger_id)
        return end

    def watch_bookies(self, changed: Callable[[], None]) -> Callable[[], None]:
        """As :meth:`watch_ledger`."""
        end: Callable[[], None] = self._twisted.watch_bookies(changed)
        self._first_look = self._twisted.read_only_bookies()
        return end

    async def _ask(self, name: str, *args: Any) -> Any:
        looked, self._first_look = self._first_look, succeed(None)
        await looked
        if self._store is None:  # a cluster may be made after its store of the reactor was started
            self._store = open_blocking_store(self._uri)
        return getattr(self._store, name)(*args)

    def stop(self) -> Deferred[None]:
        if self._store is not None:
            self._store.close()
        stopped: Deferred[None] = self._twisted.stop()
        return stopped


@pytest.fixture(params=STORES)
def metadata_cluster(request: pytest.FixtureRequest, tmp_path: Path) -> RealCluster:
    return real_cluster(request.param, request, tmp_path)


@pytest.fixture
def made_cluster(metadata_cluster: RealCluster) -> Iterator[RealCluster]:
    on_twisted(metadata_cluster.uri, lambda twisted: twisted.initialize())
    yield metadata_cluster
    run_in_reactor(metadata_cluster.close)


@pytest.fixture
def own_zookeeper(tmp_path: Path) -> Iterator[ZooKeeper]:
    """One that a test may freeze and stop, with ledgers 0, 1, … in it."""
    with ZooKeeper(tmp_path) as server:
        uri = f"zk://{server.hosts}/ledgers"
        with closing(ZooKeeperPlanning(uri)) as ledgers:
            ledgers.make(LEDGERS)
        yield server


def on_twisted(uri: str, work: Callable[[Any], Any]) -> Any:
    """Do ``work`` on a store of the reactor."""

    async def run() -> Any:
        twisted = open_metadata_store(uri, reactor)
        await twisted.start()
        try:
            return await work(twisted)
        finally:
            await twisted.stop()

    return run_in_reactor(run, timeout_s=60)


# The same cluster ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("blocking", [READS, CHANGES], ids=["blocking reads", "blocking changes"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_one_kind_of_store_reads_what_the_other_wrote(
    metadata_cluster: RealCluster,
    scenario: contract.Scenario,
    blocking: frozenset[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_store = metadata_cluster.make_store
    monkeypatch.setattr(
        metadata_cluster, "make_store", lambda: MixedStore(metadata_cluster.uri, make_store(), blocking)
    )

    async def run() -> None:
        try:
            await scenario(metadata_cluster)
        finally:
            await metadata_cluster.close()

    run_in_reactor(run, timeout_s=60)


def test_every_stored_form_in_every_scope(made_cluster: RealCluster) -> None:
    ids = [LedgerId(number, scope_id) for scope_id in (0, SCOPE_ID, 1) for number in (1, 2, 3, 2**31)]
    metadata = {
        ledger_id: evolve(METADATA, format_version=1 + index % 3, custom_metadata={}, ack_quorum_size=2)
        for index, ledger_id in enumerate(ids)
    }
    lines = {"digest_type": None, "password": None}  # form 1 has no place for them
    metadata = {
        ledger_id: evolve(each, **lines) if each.format_version == spec.TEXT_LINES else each
        for ledger_id, each in metadata.items()
    }

    async def create(twisted: Any) -> dict[int, Any]:
        return {ledger_id: await twisted.create_ledger(ledger_id, metadata[ledger_id]) for ledger_id in ids[::2]}

    created = on_twisted(made_cluster.uri, create)
    with open_blocking_store(made_cluster.uri) as store:
        created |= {ledger_id: store.create_ledger(ledger_id, metadata[ledger_id]) for ledger_id in ids[1::2]}
        assert store.list_ledgers(None) == sorted(ids)
        assert store.list_ledgers(SCOPE_ID) == sorted(ids[4:8])
        *found, (missing, error) = store.read_ledgers([*ids, 77])
    assert dict(found) == created
    assert missing == 77
    assert isinstance(error, NoSuchLedger)

    async def read(twisted: Any) -> dict[int, Any]:
        return {ledger_id: await twisted.read_ledger(ledger_id) for ledger_id in ids}

    assert on_twisted(made_cluster.uri, read) == created


def test_bookies_and_cookies(made_cluster: RealCluster) -> None:
    async def register_and_look(twisted: Any) -> None:
        await twisted.register_bookie("a:1", INFO)
        await twisted.register_bookie("b:2", OTHER_INFO, read_only=True)
        await twisted.write_cookie("c:3", b"cookie", None)
        with open_blocking_store(made_cluster.uri) as store:
            assert (store.writable_bookies(), store.read_only_bookies()) == ({"a:1"}, {"b:2"})
            assert store.cookie_bookies() == {"c:3"}
            assert store.bookie_info("b:2") == OTHER_INFO

    on_twisted(made_cluster.uri, register_and_look)


def test_of_two_that_create_a_document_one_wins(made_cluster: RealCluster) -> None:
    start = threading.Barrier(3)

    def create(own: bytes) -> list[bool]:
        with open_blocking_store(made_cluster.uri) as store:
            start.wait()
            return [store.create_document(("sink", "query", str(epoch)), own) for epoch in range(40)]

    with ThreadPoolExecutor(3) as threads:
        names = [b"first", b"second", b"third"]
        wins = dict(zip(names, threads.map(create, names), strict=True))
    with open_blocking_store(made_cluster.uri) as store:
        assert store.list_documents(("sink", "query")) == sorted(map(str, range(40)))
        for epoch in range(40):
            winners = [name for name in names if wins[name][epoch]]
            assert winners == [store.read_document(("sink", "query", str(epoch)))]


def test_a_killed_bookie_is_gone(tmp_path: Path) -> None:
    uri = f"sqlite://{tmp_path}/meta.sqlite"
    on_twisted(uri, lambda twisted: twisted.initialize())
    process = registered_process(uri)
    with open_blocking_store(uri) as store:
        assert store.writable_bookies() == {"a:1"}
        process.kill()
        process.wait()
        assert store.writable_bookies() == frozenset()


@pytest.mark.java
def test_no_twisted_is_loaded(zookeeper: ZooKeeper) -> None:
    uri = f"zk://{zookeeper.hosts}/{uuid.uuid4()}"
    on_twisted(uri, lambda twisted: twisted.initialize())
    assert modules_loaded_by_use(uri) == "[]"


@pytest.mark.etcd
def test_no_twisted_is_loaded_with_etcd(etcd: Etcd) -> None:
    uri = f"etcd://{etcd.hosts}/{uuid.uuid4()}"
    on_twisted(uri, lambda twisted: twisted.initialize())
    assert modules_loaded_by_use(uri) == "[]"


@pytest.mark.java
def test_no_thread_is_left_after_close(zookeeper: ZooKeeper) -> None:
    uri = f"zk://{zookeeper.hosts}/{uuid.uuid4()}"
    on_twisted(uri, lambda twisted: twisted.initialize())
    before = set(threading.enumerate())
    with open_blocking_store(uri) as store:
        store.new_ledger_id()
        assert set(threading.enumerate()) - before
    assert poll(lambda: not set(threading.enumerate()) - before)


# Faults --------------------------------------------------------------------------------------------------------------


@pytest.mark.java
def test_a_server_that_does_not_answer_is_unavailable_and_then_found_again(own_zookeeper: ZooKeeper) -> None:
    with open_blocking_store(f"zk://{own_zookeeper.hosts}/ledgers", timeout_s=2) as store:
        own_zookeeper.pause()
        for operation in (store.list_ledgers, store.writable_bookies, lambda: list(store.read_ledgers(range(10)))):
            started = time.monotonic()
            with pytest.raises(MetadataUnavailable, match=own_zookeeper.hosts):
                operation()
            assert time.monotonic() - started > 1.9
        own_zookeeper.resume()

        def back() -> bool:
            try:
                return store.list_ledgers() == list(range(LEDGERS))
            except MetadataUnavailable:
                return False

        assert poll(back)


@pytest.mark.java
def test_reads_that_were_in_flight_when_the_connection_broke_come_later(own_zookeeper: ZooKeeper) -> None:
    with open_blocking_store(f"zk://{own_zookeeper.hosts}/ledgers", timeout_s=9) as store:
        client = store._session.client  # type: ignore[attr-defined]
        own_zookeeper.pause()

        def resume_when_kazoo_has_given_up() -> bool:
            gone = bool(poll(lambda: not client.connected, timeout_s=30, interval_s=0.05))
            own_zookeeper.resume()
            return gone

        with ThreadPoolExecutor(1) as threads:
            resumed = threads.submit(resume_when_kazoo_has_given_up)
            found = [ledger_id for ledger_id, stored in store.read_ledgers(range(LEDGERS)) if stored.version == 0]
            assert resumed.result()
        assert found == list(range(LEDGERS))


@pytest.mark.java
def test_reads_go_on_over_a_restart_of_the_server(own_zookeeper: ZooKeeper) -> None:
    with open_blocking_store(f"zk://{own_zookeeper.hosts}/ledgers", timeout_s=120) as store:
        reading = store.read_ledgers(range(LEDGERS))
        found = [next(reading)[0] for _ in range(100)]
        own_zookeeper.stop()
        own_zookeeper.start()
        found += [ledger_id for ledger_id, _ in reading]
        assert found == list(range(LEDGERS))


@pytest.mark.java
def test_reads_go_on_when_a_server_has_taken_a_connection_and_said_nothing(own_zookeeper: ZooKeeper) -> None:
    with (
        open_blocking_store(f"zk://{own_zookeeper.hosts}/ledgers", timeout_s=24) as store,
        ThreadPoolExecutor(1) as threads,
    ):
        own_zookeeper.stop()
        with socket.create_server(("127.0.0.1", own_zookeeper.port)) as listener:
            listener.settimeout(20)
            reading = threads.submit(store.list_ledgers)
            silent, _ = listener.accept()
        with silent:
            own_zookeeper.start()
            assert reading.result(30) == list(range(LEDGERS))


@pytest.mark.java
def test_a_store_can_be_closed_while_the_server_does_not_answer(own_zookeeper: ZooKeeper) -> None:
    with open_blocking_store(f"zk://{own_zookeeper.hosts}/ledgers", timeout_s=2):
        own_zookeeper.pause()
    own_zookeeper.resume()

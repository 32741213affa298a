"""The store in etcd when processes are killed, etcd does not answer, leases end, nobody is there; and many ledgers."""

import sys
import threading
import time
import tracemalloc
import uuid
from collections.abc import Iterator
from contextlib import closing
from queue import SimpleQueue
from typing import Any

import pytest
from twisted.internet import reactor

from bookkeeper_tx.errors import BookieIdInUse, MetadataUnavailable
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.metadata.etcd.channel import EtcdChannel
from bookkeeper_tx.metadata.etcd.client import READS_AT_ONCE, EtcdClient, put
from bookkeeper_tx.metadata.etcd.etcd import EtcdMetadataStore
from bookkeeper_tx.metadata.etcd.watches import EtcdWatches
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.metadata.uri import EtcdUri
from compat_tests.targets.etcd import Etcd
from compat_tests.targets.ports import choose_port
from protocol_specs.metadata import etcd_layout as spec
from protocol_specs.metadata import etcd_pb2 as messages
from tests.integration.metadata.fault_scenarios import (
    check_that_a_killed_bookie_is_waited_for,
    check_that_changes_are_told,
    registered,
    registered_and_watched,
    sleep,
    until,
)
from tests.metadata.contract import INFO, METADATA, OTHER_INFO
from tests.reactor_thread import run_in_reactor

pytestmark = pytest.mark.etcd

SILENCE_NOTICED_S = 45
"""Three times as long as it takes, and less than gRPC's own limit."""

LIST_MEMORY_MAX = 2**20
"""Bytes beside the ids, while pages are listed."""


def short_lived(hosts: str, scope: str = "/ledgers", timeout_s: float = 3.0) -> Any:
    return EtcdMetadataStore(EtcdUri((hosts,), scope), reactor, timeout_s)


def test_a_second_bookie_waits_for_the_key_of_a_killed_bookie(etcd: Etcd) -> None:
    scope = f"/{uuid.uuid4()}"
    store = short_lived(etcd.hosts, scope, timeout_s=15.0)
    check_that_a_killed_bookie_is_waited_for(store, f"etcd://{etcd.hosts}{scope}")


def test_a_lost_lease_is_replaced_and_registrations_and_watches_go_on(own_etcd: Etcd) -> None:
    async def scenario() -> None:
        store, other = (short_lived(own_etcd.hosts) for _ in range(2))
        changes = await registered_and_watched(store, other)
        first_lease = store._lease.current
        # As when nobody has kept it for too long.
        with closing(EtcdChannel([own_etcd.hosts])) as channel:
            channel.call("LeaseRevoke", messages.LeaseRevokeRequest(ID=first_lease), 5)
        assert await other.writable_bookies() == frozenset()

        await until(lambda: registered(other))
        assert store._lease.current != first_lease
        await check_that_changes_are_told(store, other, changes)

    run_in_reactor(scenario, timeout_s=60)


def test_whose_id_was_taken_while_the_lease_was_lost_is_told(own_etcd: Etcd) -> None:
    async def scenario() -> None:
        store, other = (short_lived(own_etcd.hosts) for _ in range(2))
        store._registrations.patience_s = 0.5
        errors: list[BaseException] = []
        await store.start()
        await store.initialize()
        await other.start()
        await store.register_bookie("a:1", INFO, lost=errors.append)
        store._registrations.stop()  # as a process that hangs
        await other.register_bookie("a:1", OTHER_INFO)
        store._registrations._stopped = False
        store._registrations.keep_lease()

        async def told() -> bool:
            return bool(errors)

        await until(told)
        assert isinstance(errors[0], BookieIdInUse)
        assert await other.bookie_info("a:1") == OTHER_INFO
        await store.stop()
        await other.stop()

    run_in_reactor(scenario, timeout_s=60)


def test_a_server_that_does_not_answer_is_unavailable_and_then_found_again(own_etcd: Etcd) -> None:
    async def scenario() -> None:
        store = short_lived(own_etcd.hosts, timeout_s=2.0)
        await store.start()
        await store.initialize()
        await store.create_ledger(1, METADATA)
        calls: list[int] = []
        store.watch_ledger(1, lambda: calls.append(1))
        await store.register_bookie("a:1", INFO)
        own_etcd.pause()
        started = time.monotonic()
        for operation in [store.read_ledger(1), store.list_ledgers(), *(store.new_ledger_id() for _ in range(20))]:
            with pytest.raises(MetadataUnavailable, match=own_etcd.hosts):
                await operation
        assert time.monotonic() - started > 1.9
        await sleep(4)
        own_etcd.resume()

        async def back() -> bool:
            try:
                return 1 in await store.list_ledgers() and await store.writable_bookies() == {"a:1"}
            except MetadataUnavailable:
                return False

        await until(back)
        calls.clear()  # whose first look was cut short is told, for nobody knows what it missed
        await store.write_ledger(1, METADATA, 0)

        async def told() -> bool:
            return bool(calls)

        await until(told)
        await store.stop()

    run_in_reactor(scenario, timeout_s=90)


@pytest.mark.full
def test_who_only_watches_notices_a_server_that_says_nothing(own_etcd: Etcd) -> None:
    told: SimpleQueue[Any] = SimpleQueue()
    with closing(EtcdChannel([own_etcd.hosts])) as channel:
        watches = EtcdWatches(EtcdClient(channel, 20), told.put)
        watches.watch({1: ("/ledgers/1", "")})
        own_etcd.pause()
        assert told.get(timeout=SILENCE_NOTICED_S) is None
        watches.close()
    own_etcd.resume()


def test_a_restarted_server_is_found_again(own_etcd: Etcd) -> None:
    store = short_lived(own_etcd.hosts, timeout_s=6.0)
    calls: list[int] = []

    async def prepare() -> None:
        await store.start()
        await store.initialize()
        await store.register_bookie("a:1", INFO)
        store.watch_ledger(3, lambda: calls.append(1))

    async def goes_on() -> None:
        created = await store.create_ledger(3, METADATA)
        assert await store.read_ledger(3) == created

        async def registered_and_told() -> bool:
            return bool(await store.writable_bookies() == {"a:1"} and calls)

        await until(registered_and_told)
        await store.stop()

    run_in_reactor(prepare)
    own_etcd.stop()
    own_etcd.start()
    run_in_reactor(goes_on, timeout_s=30)


def test_one_of_several_servers_is_enough(etcd: Etcd) -> None:
    hosts = (f"127.0.0.1:{choose_port()}", etcd.hosts)

    async def scenario() -> None:
        store = EtcdMetadataStore(EtcdUri(hosts, f"/{uuid.uuid4()}"), reactor, 10.0)
        await store.start()
        await store.initialize()
        assert await store.new_ledger_id() == 1
        await store.stop()

    run_in_reactor(scenario)


def test_nobody_there_at_start() -> None:
    port = choose_port()

    async def scenario() -> None:
        store = short_lived(f"127.0.0.1:{port}", timeout_s=1.0)
        with pytest.raises(MetadataUnavailable, match=f"127.0.0.1:{port}"):
            await store.start()
        with pytest.raises(MetadataUnavailable, match="stopped"):
            await store.read_ledger(1)
        await store.stop()

    run_in_reactor(scenario)
    with pytest.raises(MetadataUnavailable, match=f"127.0.0.1:{port}"):
        open_blocking_store(f"etcd://127.0.0.1:{port}/ledgers", timeout_s=1.0)


def test_no_thread_is_left_after_stop(etcd: Etcd) -> None:
    scope = f"/{uuid.uuid4()}"

    async def scenario() -> None:
        store = short_lived(etcd.hosts, scope)
        await store.start()
        await store.initialize()
        store.watch_bookies(lambda: None)
        await store.register_bookie("a:1", INFO)
        await store.stop()

    before = set(threading.enumerate())
    run_in_reactor(scenario)
    with open_blocking_store(f"etcd://{etcd.hosts}{scope}") as store:
        store.stamps([1], lambda key: None)
    deadline = time.monotonic() + 60
    while extra := set(threading.enumerate()) - before - {threading.current_thread()}:
        assert time.monotonic() < deadline, extra
        time.sleep(0.02)  # threads that are about to end


# Many ledgers --------------------------------------------------------------------------------------------------------


@pytest.fixture
def many_ledgers(etcd: Etcd, request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """The URI of a cluster, and how many ledgers it has."""
    count: int = request.param
    scope = f"/{uuid.uuid4()}"
    uri = f"etcd://{etcd.hosts}{scope}"

    async def initialize() -> None:
        store = open_metadata_store(uri, reactor)
        await store.start()
        await store.initialize()
        await store.create_ledger(0, METADATA)
        await store.stop()

    run_in_reactor(initialize)
    client = EtcdClient(EtcdChannel([etcd.hosts]), 30)
    folder = f"{scope}/{spec.LEDGERS}"
    first = client.read(f"{folder}/{spec.ledger_name(0)}")
    assert first is not None
    for start in range(0, count, READS_AT_ONCE):
        names = map(spec.ledger_name, range(start, min(start + READS_AT_ONCE, count)))
        client.transact([], [put(f"{folder}/{name}", first.value) for name in names])
    yield uri, count
    client.channel.close()


@pytest.mark.parametrize(
    "many_ledgers", [25_000, pytest.param(1_000_000, marks=pytest.mark.full)], ids=["some", "million"], indirect=True
)
def test_ledgers_are_listed_and_read_in_pages(many_ledgers: tuple[str, int]) -> None:
    uri, count = many_ledgers
    with open_blocking_store(uri, timeout_s=60) as store:
        tracemalloc.start()
        found = store.list_ledgers()
        size, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert found == list(range(count))
        # A list that grows is copied.
        assert peak - size < sys.getsizeof(found) + LIST_MEMORY_MAX
        read = store.read_ledgers(iter(range(count - 250, count + 1)))
        assert [ledger_id for ledger_id, stored in read if getattr(stored, "version", None) is not None] == list(
            range(count - 250, count)
        )

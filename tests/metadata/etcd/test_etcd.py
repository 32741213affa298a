"""The store in etcd for Twisted, without threads and with a clock in the test's hand: its lease, and stopping."""

from collections.abc import Iterator
from typing import Any

import pytest
from twisted.internet.task import Clock

from bookkeeper_tx.errors import BookieIdInUse, MetadataUnavailable
from bookkeeper_tx.metadata.etcd.etcd import EtcdMetadataStore
from bookkeeper_tx.metadata.uri import EtcdUri
from tests.bookie.workers import InlineWorker, SteppedWorker
from tests.conftest import failure_of, result_of
from tests.metadata.contract import INFO, METADATA, OTHER_INFO
from tests.metadata.etcd.etcd_world import SCOPE, TTL_S, World
from tests.metadata.etcd.fake_etcd import FakeChannel


class Stores:
    """Stores of one cluster, with one clock."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.clock: Any = Clock()
        self.opened: list[EtcdMetadataStore] = []

    def open(self, **workers: Any) -> Any:
        """A store whose threads do their jobs at once, but for those that ``workers`` are given for."""
        store = EtcdMetadataStore(
            EtcdUri(("fake:2379",), SCOPE),
            self.clock,
            TTL_S,
            make_channel=lambda hosts: FakeChannel(self.world.etcd),
            make_worker=lambda reactor, name, threads: workers.get(name.replace("-", "_"), InlineWorker()),
        )
        result_of(store.start())
        self.opened.append(store)
        return store

    def lease_of(self, store: Any) -> int:
        """The lease that the keys of ``store`` have."""
        (lease,) = {pair.lease for pair in self.world.etcd.keys.values() if pair.lease}
        return int(lease)

    def kept(self) -> int:
        """Count the requests since the last time that keep a lease."""
        count = self.world.etcd.requests.count("LeaseKeepAlive")
        self.world.etcd.requests.clear()
        return count


@pytest.fixture
def stores(world: World) -> Iterator[Stores]:
    stores = Stores(world)
    yield stores
    for store in stores.opened:
        result_of(store.stop())
    assert not stores.clock.getDelayedCalls()
    assert not world.etcd.leases


def test_a_lease_is_granted_with_the_first_registration_and_kept(stores: Stores) -> None:
    store = stores.open()
    result_of(store.create_ledger(1, METADATA))
    assert not stores.world.etcd.leases
    assert not stores.clock.getDelayedCalls()
    result_of(store.register_bookie("a:1", INFO))
    for _ in range(3):
        stores.clock.advance(TTL_S / 3)
        assert stores.kept() == 1
    result_of(store.unregister_bookie("a:1"))
    assert result_of(store.writable_bookies()) == frozenset()


def test_a_lost_lease_is_replaced_with_all_registrations(stores: Stores) -> None:
    store, other = stores.open(), stores.open()
    result_of(store.register_bookie("a:1", INFO))
    result_of(store.register_bookie("b:1", OTHER_INFO, read_only=True))
    first = stores.lease_of(store)
    stores.world.etcd.end_lease(first)
    assert result_of(other.writable_bookies()) == frozenset()
    stores.clock.advance(TTL_S / 3)
    assert result_of(other.writable_bookies()) == {"a:1"}
    assert result_of(other.read_only_bookies()) == {"b:1"}
    assert stores.lease_of(store) != first


def test_registering_again_is_tried_until_it_is_done(stores: Stores) -> None:
    store = stores.open()
    result_of(store.register_bookie("a:1", INFO))
    stores.world.etcd.end_lease(stores.lease_of(store))
    # Keeping the lease says that it has ended; then etcd is away.
    stores.world.etcd.lose = lambda name: None if name == "LeaseKeepAlive" else "request"
    store._client._clock = stores.clock.seconds
    store._client._sleep = stores.clock.advance
    stores.clock.advance(TTL_S / 3)
    stores.world.etcd.lose = lambda name: None
    stores.clock.advance(1.0)
    assert result_of(store.writable_bookies()) == {"a:1"}


def test_a_second_registration_on_a_new_lease_brings_the_first_along(stores: Stores) -> None:
    store = stores.open()
    result_of(store.register_bookie("a:1", INFO))
    stores.world.etcd.end_lease(stores.lease_of(store))
    result_of(store.register_bookie("b:1", OTHER_INFO))
    assert result_of(store.writable_bookies()) == {"b:1"}
    stores.clock.advance(TTL_S / 3)
    assert result_of(store.writable_bookies()) == {"a:1", "b:1"}


def test_a_lease_that_a_lock_has_replaced_before_the_registration_is_heard_of_brings_it_along(stores: Stores) -> None:
    leases = SteppedWorker()
    store = stores.open(etcd_lease=leases)
    registering = store.register_bookie("a:1", INFO)
    leases.execute()
    stores.world.etcd.end_lease(stores.lease_of(store))
    locking = store.lock_replication(7, "a:1")
    leases.execute()
    leases.deliver()
    leases.deliver()
    result_of(registering)
    assert result_of(locking)
    assert result_of(store.writable_bookies()) == frozenset()
    stores.clock.advance(TTL_S / 3)
    leases.run_all()
    assert result_of(store.writable_bookies()) == {"a:1"}
    stopping = store.stop()
    leases.run_all()
    result_of(stopping)


def test_a_process_that_was_killed_is_waited_for(stores: Stores) -> None:
    dead = stores.world.new_lease()
    stores.world.records.bookies.take("a:1", OTHER_INFO, True, dead)
    store = stores.open()
    registering = store.register_bookie("a:1", INFO)
    stores.clock.advance(TTL_S / 2)
    assert not registering.called
    dead.revoke()
    stores.clock.advance(0.2)
    result_of(registering)
    assert result_of(store.bookie_info("a:1")) == INFO


def test_a_process_that_goes_on_has_the_id(stores: Stores) -> None:
    other = stores.open()
    result_of(other.register_bookie("a:1", OTHER_INFO))
    store = stores.open()
    registering = store.register_bookie("a:1", INFO)
    for _ in range(60):
        stores.clock.advance(0.2)
    failure_of(registering, BookieIdInUse)
    assert result_of(store.bookie_info("a:1")) == OTHER_INFO


def test_whose_id_is_taken_is_told_once_and_gives_it_up(stores: Stores) -> None:
    store, other = stores.open(), stores.open()
    errors: list[BaseException] = []
    result_of(store.register_bookie("a:1", INFO, lost=errors.append))
    stores.world.etcd.end_lease(stores.lease_of(store))
    result_of(other.register_bookie("a:1", OTHER_INFO))
    for _ in range(150):
        stores.clock.advance(0.2)
    assert [type(error) for error in errors] == [BookieIdInUse]
    result_of(store.unregister_bookie("a:1"))
    assert result_of(store.bookie_info("a:1")) == OTHER_INFO


def test_a_lock_is_under_a_lease_that_is_kept(stores: Stores) -> None:
    store, other = stores.open(), stores.open()
    assert result_of(store.lock_replication(7, "a:1"))
    assert not result_of(other.lock_replication(7, "b:1"))
    stores.kept()
    stores.clock.advance(TTL_S / 3)
    assert stores.kept() >= 1
    result_of(store.stop())
    assert result_of(other.lock_replication(7, "b:1"))


def test_an_operation_waits_for_watches_before_it_no_longer_than_it_may_take(stores: Stores) -> None:
    looks = SteppedWorker()
    store = stores.open(etcd_looks=looks)
    for ledger_id in range(3):
        store.watch_ledger(ledger_id, lambda: None)
    reading = store.read_ledger(1)
    stores.clock.advance(TTL_S - 0.1)
    assert not reading.called
    stores.clock.advance(0.1)
    assert "fake:2379 did not answer within 9 s" in str(failure_of(reading, MetadataUnavailable))
    looks.jobs.clear()


def test_stop_fails_what_comes_after_it_and_is_over_also_when_etcd_is_away(stores: Stores) -> None:
    store = stores.open()
    result_of(store.register_bookie("a:1", INFO))
    store._client._clock = stores.clock.seconds
    store._client._sleep = stores.clock.advance
    stores.world.etcd.lose = lambda name: "request"
    result_of(store.stop())
    failure_of(store.read_ledger(1), MetadataUnavailable)
    failure_of(store.register_bookie("a:1", INFO), MetadataUnavailable)
    stores.world.etcd.lose = lambda name: None
    stores.world.etcd.end_lease(stores.lease_of(store))

"""The records of a cluster in etcd: layout, and what becomes of lost answers and lost leases."""

import uuid

import pytest

from bookkeeper_tx.errors import InvalidConfig, LedgerExists, MetadataCorrupt, MetadataUnavailable
from bookkeeper_tx.metadata.etcd import client as etcd_client
from bookkeeper_tx.metadata.etcd import ledgers as etcd_ledgers
from bookkeeper_tx.metadata.etcd.bookies import HeldByOther
from bookkeeper_tx.metadata.etcd.channel import LeaseLost
from bookkeeper_tx.model import LedgerId
from tests.metadata.contract import INFO, METADATA, OTHER_INFO, SCOPE_ID
from tests.metadata.etcd.etcd_world import SCOPE, World


def put(world: World, key: str, value: bytes) -> None:
    client = world.new_client()
    found = client.read(key)
    assert client.write(key, value, None if found is None else found.version).done


# The cluster ---------------------------------------------------------------------------------------------------------


def test_a_new_cluster_has_the_keys_of_java(world: World) -> None:
    keys = {key.decode(): pair.value for key, pair in world.etcd.keys.items()}
    assert str(uuid.UUID(keys.pop(f"{SCOPE}/instanceid").decode())) == world.records.cluster.instance_id()
    assert keys == {
        SCOPE: b"",
        f"{SCOPE}/layout": b"2\norg.apache.bookkeeper.metadata.etcd.EtcdLedgerManagerFactory:0",
        f"{SCOPE}/cookies": b"",
        f"{SCOPE}/bookies": b"",
        f"{SCOPE}/bookies/writable": b"",
        f"{SCOPE}/bookies/readonly": b"",
        f"{SCOPE}/ledgers": b"",
        f"{SCOPE}/buckets": b"",
        f"{SCOPE}/underreplication": b"",
    }


def test_who_has_made_a_cluster_knows_it_after_a_lost_answer(world: World) -> None:
    world.etcd.keys.clear()
    world.lose_next("Txn", "answer")
    assert world.new_records().cluster.initialize() is True
    assert world.new_records().cluster.initialize() is False


def test_a_key_of_others_where_a_cluster_is_to_be_made_is_named(world: World) -> None:
    world.etcd.keys.clear()
    put(world, SCOPE, b"")
    with pytest.raises(InvalidConfig, match=f"the key {SCOPE} in etcd at fake:2379 is somebody else's"):
        world.new_records().cluster.initialize()


def test_a_cluster_of_another_layout_is_refused(world: World) -> None:
    for layout, error in [
        (b"2\norg.apache.bookkeeper.meta.FlatLedgerManagerFactory:1", InvalidConfig),
        (b"2\norg.apache.bookkeeper.metadata.etcd.EtcdLedgerManagerFactory:1", InvalidConfig),
        (b"1\nflat", MetadataCorrupt),
    ]:
        put(world, f"{SCOPE}/layout", layout)
        with pytest.raises(error, match=SCOPE):
            world.new_records().cluster.check()


def test_nothing_is_made_or_listed_where_a_cluster_was(world: World) -> None:
    ledgers = world.records.ledgers
    assert ledgers.new_id() == 1
    world.records.ledgers.create(1, METADATA)
    world.etcd.keys.clear()
    for operation in (ledgers.new_id, lambda: ledgers.create(1, METADATA), lambda: ledgers.ids(0)):
        with pytest.raises(MetadataUnavailable, match=f"there is no cluster at {SCOPE}"):
            operation()
    assert not world.etcd.keys


def test_a_cluster_that_was_made_anew_is_used(world: World) -> None:
    ledgers = world.records.ledgers
    assert [ledgers.new_id(), ledgers.new_id()] == [1, 2]
    world.etcd.keys.clear()
    world.new_records().cluster.initialize()
    assert ledgers.new_id() == 1
    world.etcd.keys.clear()
    world.new_records().cluster.initialize()
    assert ledgers.create(1, METADATA) == ledgers.read(1)
    assert ledgers.ids(0) == [1]


# Ledgers -------------------------------------------------------------------------------------------------------------


def test_a_ledger_has_the_key_of_its_uuid(world: World) -> None:
    ledgers = world.records.ledgers
    assert ledgers.key(10) == f"{SCOPE}/ledgers/00000000-0000-0000-0000-00000000000a"
    scoped = LedgerId(7, SCOPE_ID)
    assert ledgers.key(scoped) == f"{SCOPE}/ledgers/{uuid.UUID(int=scoped)}"
    assert LedgerId.of_uuid(uuid.UUID(ledgers.key(scoped).rpartition("/")[2])) == scoped


def test_ids_are_those_of_one_of_javas_buckets(world: World) -> None:
    assert [world.records.ledgers.new_id() for _ in range(3)] == [1, 2, 3]
    world.lose_next("Txn", "answer")
    assert world.records.ledgers.new_id() == 5
    assert world.etcd.keys[f"{SCOPE}/buckets/000".encode()].version == 5


@pytest.mark.parametrize("what", ["request", "answer"])
def test_a_ledger_is_known_to_be_its_own_after_a_lost_answer(world: World, what: str) -> None:
    ledgers, other = world.records.ledgers, world.new_records().ledgers
    world.lose_next("Txn", what)
    created = ledgers.create(1, METADATA)
    assert created == ledgers.read(1)
    world.lose_next("Txn", what)
    with pytest.raises(LedgerExists):
        other.create(1, METADATA)


def test_keys_that_are_no_ledgers_are_not_listed(world: World) -> None:
    for number in (3, 1, 2**62):
        world.records.ledgers.create(number, METADATA)
    put(world, f"{SCOPE}/ledgers/00000000-0000-0000-0000-00000000000A", b"")
    put(world, f"{SCOPE}/ledgers/00000000-0000-0000-0000-000000000001/x", b"")
    assert world.records.ledgers.ids(0) == [1, 3, 2**62]
    assert world.records.ledgers.ids(None) == [1, 3, 2**62]


@pytest.mark.parametrize("page", [1, 3, 8, 1000])
def test_ledgers_anywhere_are_listed_in_order(world: World, monkeypatch: pytest.MonkeyPatch, page: int) -> None:
    monkeypatch.setattr(etcd_client, "PAGE", page)
    monkeypatch.setattr(etcd_ledgers, "PAGE", page)
    places = (0, 2**32, 5 << 56, 127 << 56, LedgerId(1, 1), LedgerId(-9, 1), LedgerId(0, SCOPE_ID), LedgerId(-40, -1))
    ids = sorted({place + number * step for place in places for step in (1, 3) for number in range(10)})
    ids.append(2**128 - 1)
    for ledger_id in ids:
        world.records.ledgers.create(ledger_id, METADATA)
    put(world, f"{world.records.ledgers.key(3)}/x", b"")
    put(world, f"{SCOPE}/ledgers/none", b"")
    put(world, f"{SCOPE}/ledgers/{uuid.UUID(int=2**63)}", b"")
    assert world.records.ledgers.ids(None) == ids
    for scope_id in (0, 1, SCOPE_ID, -1, 7):
        assert world.records.ledgers.ids(scope_id) == [each for each in ids if LedgerId(each).scope_id == scope_id]


def test_no_page_has_etcd_count_all_ledgers_that_are_left(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(etcd_client, "PAGE", 10)
    monkeypatch.setattr(etcd_ledgers, "PAGE", 10)
    for place in (0, 1 << 56, 2 << 56):
        for number in range(200):
            world.records.ledgers.create(place + number, METADATA)
    world.etcd.requests.clear()
    world.etcd.counted = 0
    assert len(world.records.ledgers.ids(0)) == 600
    assert len(world.etcd.requests) < 2 * 600 / 10
    assert world.etcd.counted < 5 * 600


def test_a_record_that_cannot_be_read_does_not_end_the_reading_of_many(world: World) -> None:
    world.records.ledgers.create(1, METADATA)
    put(world, world.records.ledgers.key(2), b"garbage")
    found = dict(world.records.ledgers.read_each([1, 2, 3]))
    assert [type(found[number]).__name__ for number in (1, 2, 3)] == ["Versioned", "MetadataCorrupt", "NoSuchLedger"]


# Bookies -------------------------------------------------------------------------------------------------------------


def test_a_bookie_has_one_key_under_its_lease(world: World) -> None:
    lease = world.new_lease()
    bookies = world.records.bookies
    for read_only, state in ((False, "writable"), (True, "readonly"), (False, "writable")):
        assert bookies.take("a:1", INFO, read_only, lease) == lease.current
        keys = [key.decode() for key, pair in world.etcd.keys.items() if pair.lease]
        assert keys == [f"{SCOPE}/bookies/{state}/a:1"]
    other = world.new_lease()
    with pytest.raises(HeldByOther, match=f"{SCOPE}/bookies/writable/a:1"):
        world.records.bookies.take("a:1", OTHER_INFO, True, other)
    bookies.give_up("a:1", other)
    assert bookies.info("a:1") == INFO
    lease.revoke()
    assert bookies.writable() == frozenset()


@pytest.mark.parametrize("what", ["request", "answer"])
def test_a_registration_goes_on_after_a_lost_answer(world: World, what: str) -> None:
    lease = world.new_lease()
    lease.id()
    world.lose_next("Txn", what)
    assert world.records.bookies.take("a:1", INFO, False, lease) == lease.current
    world.lose_next("Txn", what)
    world.records.bookies.give_up("a:1", lease)
    assert world.records.bookies.writable() == frozenset()


def test_a_lease_that_has_ended_is_replaced(world: World) -> None:
    lease = world.new_lease()
    first = lease.id()
    world.etcd.end_lease(first)
    assert world.records.bookies.take("a:1", INFO, False, lease) == lease.current
    assert lease.current not in (0, first)
    world.etcd.end_lease(lease.current)
    assert world.records.locks.lock(7, "a:1", lease)
    world.etcd.end_lease(lease.current)
    with pytest.raises(LeaseLost):
        lease.keep_alive()


def test_a_bookie_that_says_nothing_of_itself_is_where_its_id_says(world: World) -> None:
    put(world, f"{SCOPE}/bookies/writable/h:3181", b"")
    info = world.records.bookies.info("h:3181")
    assert (info.host, info.port, info.extensions) == ("h", 3181, None)


def test_a_bookie_that_becomes_writable_is_registered_all_the_time(world: World) -> None:
    lease, bookies = world.new_lease(), world.records.bookies
    bookies.take("a:1", INFO, True, lease)
    requests = iter(range(100))

    def lose(name: str) -> None:
        if next(requests) == 1:
            bookies.take("a:1", INFO, False, lease)

    world.etcd.lose = lose
    assert bookies.info("a:1") == INFO


def test_a_bookie_that_registers_again_is_a_change(world: World) -> None:
    lease, bookies = world.new_lease(), world.records.bookies
    before = bookies.stamp()
    bookies.take("a:1", INFO, False, lease)
    registered = bookies.stamp()
    lease.revoke()
    bookies.take("a:1", OTHER_INFO, False, lease)
    assert len({before, registered, bookies.stamp()}) == 3


# Locks ---------------------------------------------------------------------------------------------------------------


def test_a_lock_is_held_by_one_until_it_is_given_back_or_the_lease_ends(world: World) -> None:
    mine, other, locks = world.new_lease(), world.new_lease(), world.records.locks
    assert locks.lock(7, "a:1", mine)
    assert not locks.lock(7, "b:1", other)
    locks.unlock(7, other)
    assert not locks.lock(7, "b:1", other)
    assert locks.lock(8, "b:1", other)
    locks.unlock(7, mine)
    assert locks.lock(7, "b:1", other)
    other.revoke()
    world.lose_next("Txn", "answer")
    assert locks.lock(7, "a:1", mine)


@pytest.mark.parametrize("while_it_is", ["taken", "given back"])
def test_a_lock_goes_with_the_next_one_when_etcd_was_away(world: World, while_it_is: str) -> None:
    mine, other, locks = world.new_lease(), world.new_lease(), world.records.locks

    def go_away() -> None:
        world.etcd.lose = lambda name: "request"

    mine.id()
    if while_it_is == "taken":
        world.lose_next("Txn", "answer", go_away)
        with pytest.raises(MetadataUnavailable):
            locks.lock(7, "a:1", mine)
    else:
        assert locks.lock(7, "a:1", mine)
        go_away()
        with pytest.raises(MetadataUnavailable):
            locks.unlock(7, mine)
    world.etcd.lose = lambda name: None
    assert locks.lock(8, "a:1", mine)
    assert locks.lock(7, "b:1", other)


@pytest.mark.parametrize("what", ["request", "answer"])
def test_a_lock_that_this_process_holds_is_not_taken_again_after_a_lost_request(world: World, what: str) -> None:
    lease, locks = world.new_lease(), world.records.locks
    world.lose_next("Txn", what)
    assert locks.lock(7, "a:1", lease)
    world.lose_next("Txn", what)
    assert not locks.lock(7, "a:1", lease)
    locks.unlock(7, lease)
    world.lose_next("Txn", what)
    assert locks.lock(7, "a:1", lease)

"""The blocking store on a ZooKeeper in memory: its view of a cluster, lost answers, many reads at once, limits."""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve
from kazoo import exceptions

from bookkeeper_tx.errors import (
    BookieUnavailable,
    InvalidConfig,
    LedgerExists,
    MetadataAccessDenied,
    MetadataConflict,
    MetadataCorrupt,
    MetadataError,
    MetadataUnavailable,
    NoSuchLedger,
)
from bookkeeper_tx.metadata.blocking import requests
from bookkeeper_tx.metadata.ledger_record.serialization import serialize
from bookkeeper_tx.metadata.watches import BOOKIES
from bookkeeper_tx.metadata.zookeeper.paths import LedgerTree
from bookkeeper_tx.model import LedgerId
from tests.conftest import result_of
from tests.metadata.contract import INFO, METADATA, OTHER_INFO, SCOPE_ID
from tests.metadata.zookeeper.fake_kazoo import BlockingWorld

ROOT = "/made/ledgers"


@pytest.fixture
def world() -> BlockingWorld:
    return BlockingWorld()


@pytest.fixture(params=[7, LedgerId(7, SCOPE_ID)], ids=["scope 0", "scoped"])
def ledger_id(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def path(ledger_id: int) -> str:
    return LedgerTree(ROOT).path(ledger_id)


# A cluster -----------------------------------------------------------------------------------------------------------


def test_a_cluster_that_is_not_there_says_what_to_do(world: BlockingWorld) -> None:
    store, client = world.unopened()
    with pytest.raises(MetadataUnavailable, match="bktx cluster init"):
        store.open()
    assert client.stopped


def test_another_layout_is_fatal() -> None:
    world = BlockingWorld("longhierarchical")
    world.open()
    world.uri = evolve(world.uri, layout="hierarchical")
    store, client = world.unopened()
    with pytest.raises(InvalidConfig, match="asks for 'hierarchical'"):
        store.open()
    assert client.stopped


def test_the_layout_of_the_cluster_is_taken_if_the_uri_names_none() -> None:
    world = BlockingWorld("longhierarchical")
    world.open()
    world.uri = evolve(world.uri, layout=None)
    store, _ = world.open_blocking()
    store.create_ledger(7, METADATA)
    assert f"{ROOT}/000/0000/0000/0000/L0007" in world.server.nodes


def test_nobody_there(world: BlockingWorld) -> None:
    store, client = world.unopened()
    client.reachable = False
    with pytest.raises(MetadataUnavailable, match="no ZooKeeper at fake:2181 answered within 10 s"):
        store.open()
    assert client.stopped


def test_both_kinds_of_store_see_the_same_bookies(world: BlockingWorld) -> None:
    twisted, _ = world.open()
    store, _ = world.open_blocking()
    assert store.writable_bookies() == store.read_only_bookies() == store.cookie_bookies() == frozenset()
    result_of(twisted.register_bookie("a:1", INFO))
    result_of(twisted.register_bookie("b:2", OTHER_INFO, read_only=True))
    result_of(twisted.write_cookie("c:3", b"cookie", None))
    assert store.writable_bookies() == {"a:1"}
    assert store.read_only_bookies() == {"b:2"}
    assert store.cookie_bookies() == {"c:3"}
    assert store.bookie_info("b:2") == OTHER_INFO
    with pytest.raises(BookieUnavailable, match="c:3"):
        store.bookie_info("c:3")
    assert store.instance_id() == result_of(twisted.instance_id())


# Ledgers -------------------------------------------------------------------------------------------------------------


def test_both_kinds_of_store_see_the_same_ledgers(world: BlockingWorld, ledger_id: int) -> None:
    twisted, _ = world.open()
    store, _ = world.open_blocking()
    created = store.create_ledger(ledger_id, METADATA)
    assert result_of(twisted.read_ledger(ledger_id)) == created
    written = result_of(twisted.write_ledger(ledger_id, created.metadata.with_close(5, 10), 0))
    assert store.read_ledger(ledger_id) == written
    with pytest.raises(MetadataConflict):
        store.write_ledger(ledger_id, METADATA, 0)
    with pytest.raises(LedgerExists):
        store.create_ledger(ledger_id, METADATA)
    assert store.list_ledgers(None) == [ledger_id]
    store.delete_ledger(ledger_id)
    assert result_of(twisted.list_ledgers(None)) == []
    with pytest.raises(NoSuchLedger):
        store.delete_ledger(ledger_id)


@pytest.mark.parametrize("request_name", ["commit", "create"])
@pytest.mark.parametrize("carried_out", [True, False])
def test_create_with_a_lost_answer(world: BlockingWorld, ledger_id: int, request_name: str, carried_out: bool) -> None:
    store, client = world.open_blocking()
    client.lose(request_name, carried_out)
    created = store.create_ledger(ledger_id, METADATA)
    assert world.server.nodes[path(ledger_id)].data == serialize(created.metadata)
    with pytest.raises(LedgerExists):
        store.create_ledger(ledger_id, METADATA)


def test_somebody_elses_ledger_is_not_taken_for_the_own_one(world: BlockingWorld, ledger_id: int) -> None:
    store, client = world.open_blocking()
    other, _ = world.open_blocking()
    other.create_ledger(ledger_id, METADATA)
    client.lose("create", False)
    with pytest.raises(LedgerExists):
        store.create_ledger(ledger_id, METADATA)


@pytest.mark.parametrize("carried_out", [True, False])
def test_write_and_delete_with_a_lost_answer(world: BlockingWorld, ledger_id: int, carried_out: bool) -> None:
    store, client = world.open_blocking()
    created = store.create_ledger(ledger_id, METADATA)
    client.lose("set", carried_out)
    written = store.write_ledger(ledger_id, created.metadata.with_close(5, 10), 0)
    assert store.read_ledger(ledger_id) == written
    assert written.version == 1
    client.lose("delete", carried_out)
    store.delete_ledger(ledger_id)
    assert store.list_ledgers(None) == []


def test_ids_are_those_of_the_other_stores_and_survive_lost_answers(world: BlockingWorld) -> None:
    twisted, _ = world.open()
    store, client = world.open_blocking()
    assert [store.new_ledger_id(), result_of(twisted.new_ledger_id()), store.new_ledger_id()] == [0, 1, 2]
    client.lose("create", True)
    client.lose("delete", False)
    assert store.new_ledger_id() == 4
    world.server.nodes[f"{ROOT}/idgen"].sequence = 2**31 - 1
    assert store.new_ledger_id() == 1 << 32


# Many at once --------------------------------------------------------------------------------------------------------


def test_many_ledgers_are_read_in_order_within_a_window(world: BlockingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "WINDOW", 10)
    store, client = world.open_blocking()
    ids = [*range(40), *(LedgerId(number, SCOPE_ID) for number in range(5))]
    created = {ledger_id: store.create_ledger(ledger_id, METADATA) for ledger_id in ids}
    store.delete_ledger(3)
    world.server.set(path(4), b"nonsense")
    client.in_flight_max = 0
    found = list(store.read_ledgers(iter(ids[::-1])))
    assert client.in_flight_max == 10
    assert [ledger_id for ledger_id, _ in found] == ids[::-1]
    by_id = dict(found)
    assert isinstance(by_id.pop(3), NoSuchLedger)
    corrupt = by_id.pop(4)
    assert isinstance(corrupt, MetadataCorrupt)
    assert "ledger 4" in str(corrupt)
    assert by_id == {ledger_id: stored for ledger_id, stored in created.items() if ledger_id not in (3, 4)}


def test_reads_that_a_broken_connection_has_lost_are_repeated(world: BlockingWorld) -> None:
    store, client = world.open_blocking()
    created = [(ledger_id, store.create_ledger(ledger_id, METADATA)) for ledger_id in range(30)]
    started = world.time.now
    client.answers_left = 7
    assert list(store.read_ledgers(range(30))) == created
    assert world.time.now - started < 2  # all reads of one break wait together


def test_nothing_is_read_before_it_is_asked_for_and_nobody_is_asked_for_nothing(world: BlockingWorld) -> None:
    store, client = world.open_blocking()
    client.in_flight_max = 0
    store.read_ledgers(range(5))
    assert list(store.read_ledgers([])) == []
    assert client.in_flight_max == 0


# Limits --------------------------------------------------------------------------------------------------------------

OPERATIONS = [
    lambda store: store.read_ledger(7),
    lambda store: list(store.read_ledgers([1, 2, 3])),
    lambda store: store.list_ledgers(),
    lambda store: store.create_ledger(7, METADATA),
    lambda store: store.create_document(("a",), b"x"),
    lambda store: store.writable_bookies(),
]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("fault", ["silent", "down", "down in the midst"])
def test_nothing_waits_longer_than_the_time_limit(
    world: BlockingWorld, operation: Callable[[Any], Any], fault: str
) -> None:
    store, client = world.open_blocking()
    if fault == "silent":
        client.silent = True
    elif fault == "down":
        client.reachable = False
    else:
        for name in ("get", "sync", "create", "get_children"):
            client.lose(name, False)
        client.down_s = 1000
    started = world.time.now
    with pytest.raises(MetadataUnavailable, match="fake:2181 did not answer within 10 s"):
        operation(store)
    assert world.time.now - started == pytest.approx(10)


@pytest.mark.parametrize(
    ("answer", "error", "said"),
    [
        (exceptions.BadArgumentsError, MetadataError, "refused: BadArgumentsError"),
        (exceptions.NoAuthError, MetadataAccessDenied, "the access list of /made/"),
        (exceptions.InvalidACLError, MetadataAccessDenied, "it does not know who we are"),
    ],
)
def test_an_unexpected_answer_is_an_error_of_the_store(
    world: BlockingWorld,
    monkeypatch: pytest.MonkeyPatch,
    answer: type[Exception],
    error: type[MetadataError],
    said: str,
) -> None:
    store, _ = world.open_blocking()

    def refuse(*args: Any) -> Any:
        raise answer

    monkeypatch.setattr(world.server.__class__, "carry_out", refuse)
    with pytest.raises(error, match=said):
        store.read_ledger(7)
    with pytest.raises(error, match=said):
        list(store.read_ledgers([7]))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_closed_store_fails_at_once(world: BlockingWorld, operation: Callable[[Any], Any]) -> None:
    store, client = world.open_blocking()
    with store:
        pass
    store.close()
    assert client.stopped
    with pytest.raises(MetadataUnavailable, match="closed"):
        operation(store)


# Changes -------------------------------------------------------------------------------------------------------------


def test_it_tells_once_of_each_change_of_what_was_looked_at(world: BlockingWorld, ledger_id: int) -> None:
    store, _ = world.open_blocking()
    other, _ = world.open_blocking()
    told: list[object] = []
    stamps = [store.stamps({ledger_id, 8}, told.append)]
    assert (stamps[0], told) == ({ledger_id: None, 8: None}, [])
    version = other.create_ledger(ledger_id, METADATA).version
    assert told == [ledger_id]
    stamps.append(store.stamps({ledger_id}, told.append))
    version = other.write_ledger(ledger_id, METADATA, version).version
    other.write_ledger(ledger_id, METADATA, version)
    assert told == [ledger_id] * 2, "a watch fires once"
    stamps.append(store.stamps({ledger_id}, told.append))
    other.delete_ledger(ledger_id)
    stamps.append(store.stamps({ledger_id}, told.append))
    assert told == [ledger_id] * 3
    seen = [each[ledger_id] for each in stamps]
    assert len({*seen}) == 3
    assert seen[0] == seen[3] is None


def test_it_tells_of_bookies_that_come_and_go(world: BlockingWorld) -> None:
    store, _ = world.open_blocking()
    told: list[object] = []
    assert store.stamps({BOOKIES}, told.append) == {BOOKIES: frozenset()}
    result_of(world.open()[0].register_bookie("b:1", INFO))
    assert told == [BOOKIES]
    assert store.stamps({BOOKIES}, told.append) == {BOOKIES: {"b:1"}}


def test_looking_again_and_again_leaves_one_watch(world: BlockingWorld) -> None:
    store, _ = world.open_blocking()
    told: list[object] = []
    for _ in range(3):
        store.stamps({7}, told.append)
    world.server.fire(path(7))
    assert told == [7]


def test_after_a_lost_connection_anything_may_have_changed(world: BlockingWorld) -> None:
    store, _ = world.open_blocking()
    told: list[object] = []
    store.stamps({7}, told.append)
    world.server.lose_watches()
    assert told == [None]
    store.stamps({8}, told.append)
    assert set(store._watched.values()) == {8}, "what nobody watches any more would stay for ever"
    world.server.fire(path(8))
    assert told == [None, 8]

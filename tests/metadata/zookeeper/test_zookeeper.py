"""The ZooKeeper store on a ZooKeeper in memory: making a cluster, layouts, watches, time limits.

Its contract, on a real ZooKeeper, is in tests/integration.
"""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from bookkeeper_tx.errors import (
    InvalidConfig,
    MetadataAccessDenied,
    MetadataCorrupt,
    MetadataError,
    MetadataUnavailable,
)
from bookkeeper_tx.metadata.ledger_record.serialization import serialize
from tests.conftest import failure_of, result_of
from tests.metadata.contract import INFO, METADATA
from tests.metadata.zookeeper.zookeeper_world import World

JAVA = b"org.apache.bookkeeper.meta."
PATH = "/made/ledgers/00/0000/L0007"


# Making a cluster ----------------------------------------------------------------------------------------------------


def test_initialize_makes_the_tree(world: World) -> None:
    store, _ = world.open()
    assert world.server.paths() == [
        "/made",
        "/made/ledgers",
        "/made/ledgers/INSTANCEID",
        "/made/ledgers/LAYOUT",
        "/made/ledgers/available",
        "/made/ledgers/available/readonly",
    ]
    layout = b"2\n" + JAVA + b"HierarchicalLedgerManagerFactory:1"
    assert world.server.nodes["/made/ledgers/LAYOUT"].data == layout
    assert len(result_of(store.instance_id())) == 36


def test_initialize_leaves_what_is_above_the_cluster_alone(world: World) -> None:
    world.server.create("/made", b"")
    store, _ = world.open()
    assert "/made" not in {path for name, path in world.server.requests if name in ("create", "commit", "set")}
    assert result_of(store.list_ledgers()) == []


@pytest.mark.parametrize("carried_out", [True, False])
def test_initialize_with_a_lost_answer(world: World, carried_out: bool) -> None:
    store, session = world.unstarted()
    result_of(store.start())
    session.lose("commit", carried_out)
    assert world.settle(store.initialize()) is True


def test_initialize_completes_an_old_cluster_but_gives_it_no_instance_id(world: World) -> None:
    for path in ("/made", "/made/ledgers", "/made/ledgers/available"):
        world.server.create(path, b"")
    store, _ = world.unstarted()
    result_of(store.start())
    assert result_of(store.initialize()) is False
    assert "/made/ledgers/LAYOUT" in world.server.nodes
    assert result_of(store.instance_id()) is None


def test_initialize_fills_an_empty_root(world: World) -> None:
    world.server.create("/made", b"")
    world.server.create("/made/ledgers", b"")
    store, _ = world.unstarted()
    result_of(store.start())
    assert result_of(store.initialize()) is True


@pytest.mark.parametrize(
    ("wanted", "layout", "error", "reason"),
    [
        ("hierarchical", b"2\n" + JAVA + b"FlatLedgerManagerFactory:1", InvalidConfig, "asks for"),
        ("flat", b"2\n" + JAVA + b"HierarchicalLedgerManagerFactory:1", InvalidConfig, "asks for"),
        (
            None,
            b"2\n" + JAVA + b"LegacyHierarchicalLedgerManagerFactory:1",
            InvalidConfig,
            "'legacyhierarchical', which is not built",
        ),
        (None, b"2\ncom.example.Mine:1", InvalidConfig, "com.example.Mine"),
        (None, b"2\n" + JAVA + b"HierarchicalLedgerManagerFactory:2", InvalidConfig, "version b'2'"),
        (None, b"1\nhierarchical:1", MetadataCorrupt, "LAYOUT"),
        (None, b"", MetadataCorrupt, "LAYOUT"),
    ],
)
def test_another_layout_is_fatal_at_start(
    wanted: str | None, layout: bytes, error: type[Exception], reason: str
) -> None:
    world = World(wanted)
    for path, data in (("/made", b""), ("/made/ledgers", b""), ("/made/ledgers/LAYOUT", layout)):
        world.server.create(path, data)
    store, session = world.unstarted()
    assert reason in str(failure_of(store.start(), error))
    assert session.stopped


@pytest.mark.parametrize(
    ("forbidden", "path", "use"),
    [
        ("/made/ledgers/00", "/made/ledgers/00/0001", lambda store: store.create_ledger(10_000, METADATA)),
        ("/made/ledgers", "/made/ledgers/01", lambda store: store.create_ledger(10**8, METADATA)),
        ("/made/ledgers", "/made/ledgers/cookies", lambda store: store.write_cookie("a:1", b"x", None)),
        ("/made/ledgers", "/made/ledgers/idgen", lambda store: store.new_ledger_id()),
        ("/made/ledgers", "/made/ledgers/ID-records", lambda store: store.write_record(("a",), b"x", None)),
    ],
)
def test_a_node_below_which_nothing_may_be_made_is_named_at_once(
    world: World, forbidden: str, path: str, use: Callable[[Any], Any]
) -> None:
    store, _ = world.open()
    result_of(store.create_ledger(1, METADATA))
    world.server.forbidden.add(forbidden)
    assert f"the access list of {path} does not" in str(failure_of(use(store), MetadataAccessDenied))


def test_ranges_are_made_where_they_may_be(world: World) -> None:
    store, _ = world.open()
    result_of(store.create_ledger(1, METADATA))
    world.server.forbidden.add("/made/ledgers")
    result_of(store.create_ledger(10_000, METADATA))
    assert result_of(store.list_ledgers()) == [1, 10_000]


def test_a_cluster_that_may_not_be_made_is_no_conflict(world: World) -> None:
    world.server.create("/made", b"")
    world.server.forbidden.add("/made")
    store, _ = world.unstarted()
    result_of(store.start())
    assert "the access list of /made/ledgers does not" in str(failure_of(store.initialize(), MetadataAccessDenied))


# A cluster without LAYOUT ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("layout", "wanted"), [("flat", None), ("hierarchical", "flat"), ("hierarchical", None)])
def test_ledgers_are_not_listed_by_a_guess(layout: str, wanted: str | None) -> None:
    world = World(layout)
    store, _ = world.open()
    result_of(store.create_ledger(7, METADATA))
    record = world.server.nodes["/made/ledgers/LAYOUT"].data
    world.server.delete("/made/ledgers/LAYOUT")
    world.uri = evolve(world.uri, layout=wanted)
    other, _ = world.unstarted()
    result_of(other.start())
    for scope_id in (None, 0):
        assert "LAYOUT is missing" in str(failure_of(other.list_ledgers(scope_id), MetadataError))
    if wanted is None:
        world.server.create("/made/ledgers/LAYOUT", record)
        assert result_of(other.list_ledgers(None)) == [7]
        result_of(other.create_ledger(8, METADATA))
        assert result_of(store.list_ledgers(None)) == [7, 8]


@pytest.mark.parametrize(
    ("layout", "wanted"),
    [("flat", None), ("flat", "hierarchical"), ("hierarchical", "flat"), ("hierarchical", "longhierarchical")],
)
def test_an_old_cluster_gets_no_layout_that_does_not_find_its_ledgers(layout: str, wanted: str | None) -> None:
    world = World(layout)
    store, _ = world.open()
    result_of(store.create_ledger(7, METADATA))
    world.server.delete("/made/ledgers/LAYOUT")
    world.uri = evolve(world.uri, layout=wanted)
    other, _ = world.unstarted()
    result_of(other.start())
    assert "name the cluster's layout" in str(failure_of(other.initialize(), InvalidConfig))
    assert "/made/ledgers/LAYOUT" not in world.server.nodes
    world.uri = evolve(world.uri, layout=layout)
    other, _ = world.unstarted()
    result_of(other.start())
    assert result_of(other.initialize()) is False
    assert result_of(other.list_ledgers()) == [7]


# Layouts --------------------------------------------------------------------------------------------------------------


def test_a_cluster_of_the_long_layout() -> None:
    world = World("longhierarchical")
    store, _ = world.open()
    layout = b"2\n" + JAVA + b"LongHierarchicalLedgerManagerFactory:1"
    assert world.server.nodes["/made/ledgers/LAYOUT"].data == layout
    calls: list[int] = []
    store.watch_ledger(7, lambda: calls.append(1))
    result_of(store.create_ledger(7, METADATA))
    assert calls == [1]
    assert "/made/ledgers/000/0000/0000/0000/L0007" in world.server.nodes
    assert result_of(store.list_ledgers()) == [7]
    assert result_of(store.new_ledger_id()) == 0


def test_a_cluster_of_the_flat_layout() -> None:
    world = World("flat")
    store, _ = world.open()
    assert world.server.nodes["/made/ledgers/LAYOUT"].data == b"2\n" + JAVA + b"FlatLedgerManagerFactory:1"
    result_of(store.create_ledger(7, METADATA))
    assert "/made/ledgers/L0000000007" in world.server.nodes
    world.uri = evolve(world.uri, layout=None)
    other, _ = world.open()
    calls: list[int] = []
    other.watch_ledger(7, lambda: calls.append(1))
    result_of(store.write_ledger(7, METADATA, 0))
    assert calls == [1]
    assert result_of(other.read_ledger(7)).version == 1
    result_of(other.delete_ledger(7))
    assert result_of(store.list_ledgers(None)) == []


def test_a_store_that_was_open_before_the_cluster_was_made_takes_its_layout() -> None:
    world = World(None)
    early, _ = world.unstarted()
    result_of(early.start())
    calls: list[int] = []
    end = early.watch_ledger(7, lambda: calls.append(1))
    world.uri = evolve(world.uri, layout="longhierarchical")
    store, _ = world.open()
    result_of(store.create_ledger(7, METADATA))
    assert calls == [1]
    assert result_of(early.read_ledger(7)) == result_of(store.read_ledger(7))
    end()
    result_of(store.write_ledger(7, METADATA, 0))
    assert calls == [1]


def test_any_layout_that_is_built_will_do_for_zk_null() -> None:
    world = World(None)
    store, _ = world.open()
    assert result_of(store.list_ledgers()) == []


# Watches -------------------------------------------------------------------------------------------------------------


def test_a_watch_goes_on_and_outlives_sessions(world: World) -> None:
    store, session = world.open()
    calls: list[int] = []
    end = store.watch_ledger(7, lambda: calls.append(1))
    result_of(store.create_ledger(7, METADATA))
    result_of(store.write_ledger(7, METADATA, 0))
    assert len(calls) == 2
    world.server.watches.clear()  # what kazoo does when the connection breaks
    world.server.set(PATH, serialize(METADATA))
    session.connected_again()
    assert len(calls) == 3
    session.connected_again()
    assert len(calls) == 3
    end()
    result_of(store.delete_ledger(7))
    assert len(calls) == 3
    assert not [path for path, _ in world.server.watches if path == PATH]


def test_a_watch_whose_look_failed_looks_again(world: World) -> None:
    store, session = world.open()
    calls: list[int] = []
    store.watch_bookies(lambda: calls.append(1))
    session.down = True
    world.server.create("/made/ledgers/available/x:1", b"")
    world.wait(15)
    assert not calls
    session.down = False
    world.wait(15)
    assert calls == [1]


def test_a_watch_whose_first_look_failed_is_called_after_the_next(world: World) -> None:
    store, session = world.open()
    calls: list[int] = []
    session.down = True
    store.watch_bookies(lambda: calls.append(1))
    world.wait(15)
    assert not calls
    world.server.create("/made/ledgers/available/x:1", b"")  # somebody may have read before, with another store
    session.down = False
    world.wait(15)
    assert calls


# Limits --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operation",
    [
        lambda store: store.read_ledger(7),
        lambda store: store.create_ledger(7, METADATA),
        lambda store: store.list_ledgers(),
        lambda store: store.writable_bookies(),
        lambda store: store.initialize(),
    ],
)
def test_nothing_waits_longer_than_the_time_limit(world: World, operation: Callable[[Any], Any]) -> None:
    store, session = world.open()
    session.down = True
    waiting = operation(store)
    world.wait(9)
    assert not waiting.called
    world.wait(2)
    assert "fake:2181 did not answer within 10 s" in str(failure_of(waiting, MetadataUnavailable))
    assert not session.waiting
    assert not world.clock.getDelayedCalls()


def test_stop_fails_what_is_pending(world: World) -> None:
    store, session = world.open()
    store.watch_bookies(lambda: None)
    result_of(store.register_bookie("a:1", INFO))
    session.down = True
    waiting = [store.read_ledger(7), store.register_bookie("b:1", INFO), store.list_ledgers()]
    result_of(store.stop())
    for each in waiting:
        assert "stopped" in str(failure_of(each, MetadataUnavailable))
    assert not world.clock.getDelayedCalls()
    assert "/made/ledgers/available/a:1" not in world.server.nodes

"""The ZooKeeper store on a ZooKeeper in memory: lost answers, lost sessions, id overflow, layouts, time limits.

Its contract, on a real ZooKeeper, is in tests/integration.
"""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve
from twisted.internet.task import Clock

from bookkeeper_tx.errors import (
    BookieIdInUse,
    InvalidConfig,
    LedgerExists,
    MetadataConflict,
    MetadataCorrupt,
    MetadataUnavailable,
    NoSuchLedger,
)
from bookkeeper_tx.metadata.ledger_serialization import parse, serialize
from bookkeeper_tx.metadata.uri import ZooKeeperUri
from bookkeeper_tx.metadata.zookeeper import ZooKeeperMetadataStore
from tests.conftest import failure_of, result_of
from tests.metadata.contract import INFO, METADATA, OTHER_INFO
from tests.metadata.fake_zookeeper import FakeSession, FakeZooKeeper

JAVA = b"org.apache.bookkeeper.meta."
PATH = "/made/ledgers/00/0000/L0007"


class World:
    """A server, a clock, and stores."""

    def __init__(self, layout: str | None = "hierarchical") -> None:
        self.server = FakeZooKeeper()
        self.clock = Clock()
        self.uri = ZooKeeperUri(("fake:2181",), "/made/ledgers", layout)

    def unstarted(self) -> tuple[Any, FakeSession]:
        session = FakeSession(self.server)
        tokens = iter(range(1, 1000))
        store = ZooKeeperMetadataStore(
            self.uri, self.clock, make_session=lambda *args: session, draw_token=lambda bits: next(tokens)
        )
        return store, session

    def open(self) -> tuple[Any, FakeSession]:
        store, session = self.unstarted()
        result_of(store.start())
        result_of(store.initialize())
        return store, session

    def wait(self, seconds: float) -> None:
        self.clock.pump([0.1] * int(seconds * 10 + 1))

    def settle(self, deferred: Any, seconds: float = 2) -> Any:
        self.wait(seconds)
        return result_of(deferred)


@pytest.fixture
def world() -> World:
    return World()


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
        (
            None,
            b"2\n" + JAVA + b"FlatLedgerManagerFactory:1",
            InvalidConfig,
            "'flat', which is not built",
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


def test_any_layout_that_is_built_will_do_for_zk_null() -> None:
    world = World(None)
    store, _ = world.open()
    assert result_of(store.list_ledgers()) == []


# Ledgers, when answers get lost --------------------------------------------------------------------------------------


@pytest.mark.parametrize("carried_out", [True, False])
def test_create_with_a_lost_answer(world: World, carried_out: bool) -> None:
    store, session = world.open()
    result_of(store.create_ledger(1, METADATA))  # so that the range is there
    session.lose("create", carried_out)
    created = world.settle(store.create_ledger(7, METADATA))
    assert created.version == 0
    assert world.server.nodes[PATH].data == serialize(created.metadata)
    failure_of(store.create_ledger(7, METADATA), LedgerExists)


def test_create_with_a_lost_answer_of_text_metadata(world: World) -> None:
    store, session = world.open()
    result_of(store.create_ledger(1, METADATA))
    session.lose("create", True)
    created = world.settle(store.create_ledger(7, evolve(METADATA, format_version=2)))
    assert parse(world.server.nodes[PATH].data, 7) == created.metadata


def test_somebody_elses_ledger_is_not_taken_for_the_own_one(world: World) -> None:
    store, session = world.open()
    other, _ = world.open()
    result_of(other.create_ledger(1, METADATA))
    result_of(other.create_ledger(7, METADATA))
    session.lose("create", False)
    creating = store.create_ledger(7, METADATA)
    world.wait(1)
    failure_of(creating, LedgerExists)


@pytest.mark.parametrize("carried_out", [True, False])
def test_write_with_a_lost_answer(world: World, carried_out: bool) -> None:
    store, session = world.open()
    created = result_of(store.create_ledger(7, METADATA))
    session.lose("set", carried_out)
    written = world.settle(store.write_ledger(7, created.metadata.with_close(5, 10), 0))
    assert written.version == 1
    assert result_of(store.read_ledger(7)) == written


def test_write_with_a_lost_answer_and_somebody_else_faster(world: World) -> None:
    store, session = world.open()
    created = result_of(store.create_ledger(7, METADATA))
    session.lose("set", False)
    writing = store.write_ledger(7, created.metadata.with_close(5, 10), 0)
    world.server.set(PATH, serialize(created.metadata.with_close(4, 8)))
    world.wait(1)
    failure_of(writing, MetadataConflict)


@pytest.mark.parametrize("carried_out", [True, False])
def test_delete_with_a_lost_answer(world: World, carried_out: bool) -> None:
    store, session = world.open()
    result_of(store.create_ledger(7, METADATA))
    session.lose("delete", carried_out)
    world.settle(store.delete_ledger(7))
    failure_of(store.read_ledger(7), NoSuchLedger)


def test_reads_are_repeated(world: World) -> None:
    store, session = world.open()
    created = result_of(store.create_ledger(7, METADATA))
    session.lose("get", False)
    session.lose("get", True)
    assert world.settle(store.read_ledger(7)) == created


def test_delete_removes_the_ranges_that_it_leaves_empty(world: World) -> None:
    store, _ = world.open()
    before = world.server.paths()
    for ledger_id in (7, 10007, 2**40):
        result_of(store.create_ledger(ledger_id, METADATA))
    result_of(store.delete_ledger(7))
    assert "/made/ledgers/00/0000" not in world.server.nodes
    assert "/made/ledgers/00" in world.server.nodes
    result_of(store.delete_ledger(10007))
    result_of(store.delete_ledger(2**40))
    assert world.server.paths() == before


def test_list_skips_what_is_no_ledger(world: World) -> None:
    store, _ = world.open()
    result_of(store.create_ledger(5, METADATA))
    for name in ("idgen", "underreplication", "disableHealthCheck", "cookies", "ID-0000000001", "123", "55", "99"):
        world.server.create(f"/made/ledgers/{name}", b"")
    for path in ("00/0000/X0001", "00/0000/L00001", "00/xxxx", "99/9999", "99/9999/L9999"):
        world.server.create(f"/made/ledgers/{path}", b"")
    assert result_of(store.list_ledgers()) == [5]


def test_corrupt_metadata_names_the_ledger(world: World) -> None:
    store, _ = world.open()
    result_of(store.create_ledger(7, METADATA))
    world.server.set(PATH, b"nonsense")
    assert "ledger 7" in str(failure_of(store.read_ledger(7), MetadataCorrupt))


# Ids -----------------------------------------------------------------------------------------------------------------


def test_ids_leave_no_nodes_and_survive_lost_answers(world: World) -> None:
    store, session = world.open()
    assert result_of(store.new_ledger_id()) == 0
    session.lose("create", True)
    session.lose("delete", False)
    assert world.settle(store.new_ledger_id()) == 2
    result_of(store.stop())
    assert world.server.children("/made/ledgers/idgen") == []


@pytest.mark.parametrize("number", [2**31 - 1, -(2**31)])
def test_when_short_ids_run_out_long_ones_follow_for_ever(world: World, number: int) -> None:
    store, _ = world.open()
    result_of(store.new_ledger_id())
    world.server.nodes["/made/ledgers/idgen"].sequence = 2**31 - 2
    assert result_of(store.new_ledger_id()) == 2**31 - 2
    world.server.nodes["/made/ledgers/idgen"].sequence = number
    assert result_of(store.new_ledger_id()) == 1 << 32
    world.server.nodes["/made/ledgers/idgen"].sequence = 5
    assert result_of(store.new_ledger_id()) == (1 << 32) + 1
    assert "/made/ledgers/idgen-long/HOB-0000000001" in world.server.nodes


def test_long_ids_go_on_in_the_next_upper_half_and_old_halves_are_forgotten(world: World) -> None:
    store, _ = world.open()
    for high in range(5):
        name = f"/made/ledgers/idgen-long/HOB-{high:010d}"
        if high == 0:
            world.server.create("/made/ledgers/idgen-long", b"")
        else:
            assert result_of(store.new_ledger_id()) == high << 32
            world.server.nodes[name].sequence = 2**31 - 1
    assert sorted(world.server.children("/made/ledgers/idgen-long")) == [f"HOB-{n:010d}" for n in (2, 3, 4)]


# Bookies and cookies -------------------------------------------------------------------------------------------------


def test_a_move_to_read_only_makes_the_new_node_before_the_old_one_goes(world: World) -> None:
    store, _ = world.open()
    result_of(store.register_bookie("a:1", INFO))
    world.server.requests.clear()
    result_of(store.register_bookie("a:1", INFO, read_only=True))
    changes = [request for request in world.server.requests if request[0] in ("create", "delete")]
    assert changes == [
        ("create", "/made/ledgers/available/readonly/a:1"),
        ("delete", "/made/ledgers/available/a:1"),
    ]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_new_session_registers_again(world: World, read_only: bool) -> None:
    store, session = world.open()
    result_of(store.register_bookie("a:1", INFO, read_only=read_only))
    result_of(store.register_bookie("b:1", OTHER_INFO))
    result_of(store.unregister_bookie("b:1"))
    session.expire()
    expected = frozenset({"a:1"})
    assert result_of(store.read_only_bookies() if read_only else store.writable_bookies()) == expected
    assert result_of(store.bookie_info("a:1")) == INFO


def test_an_id_that_was_taken_meanwhile_is_reported_lost(world: World) -> None:
    store, session = world.open()
    other, _ = world.open()
    lost: list[BaseException] = []
    result_of(store.register_bookie("a:1", INFO, lost=lost.append))
    world.server.end_session(session.session_id)
    result_of(other.register_bookie("a:1", OTHER_INFO))
    session.expire()
    world.wait(20)
    (error,) = lost
    assert isinstance(error, BookieIdInUse)
    assert result_of(store.bookie_info("a:1")) == OTHER_INFO


def test_registering_again_is_tried_until_it_succeeds(world: World) -> None:
    store, session = world.open()
    result_of(store.register_bookie("a:1", INFO))
    session.down = True
    session.expire()
    world.wait(60)
    session.down = False
    world.wait(60)
    assert result_of(store.writable_bookies()) == frozenset({"a:1"})


def test_the_node_of_a_dead_process_is_waited_for(world: World) -> None:
    store, _ = world.open()
    _, dead = other = world.open()
    result_of(other[0].register_bookie("a:1", OTHER_INFO))
    registering = store.register_bookie("a:1", INFO)
    world.wait(5)
    assert not registering.called
    world.server.end_session(dead.session_id)
    world.wait(1)
    result_of(registering)
    assert result_of(store.bookie_info("a:1")) == INFO


def test_registration_with_a_lost_answer(world: World) -> None:
    store, session = world.open()
    session.lose("create", True)
    world.settle(store.register_bookie("a:1", INFO))
    assert result_of(store.writable_bookies()) == frozenset({"a:1"})


@pytest.mark.parametrize("carried_out", [True, False])
def test_cookies_with_lost_answers(world: World, carried_out: bool) -> None:
    store, session = world.open()
    result_of(store.write_cookie("b:1", b"", None))
    session.lose("create", carried_out)
    assert world.settle(store.write_cookie("a:1", b"one", None)) == 0
    session.lose("set", carried_out)
    assert world.settle(store.write_cookie("a:1", b"two", 0)) == 1
    session.lose("delete", carried_out)
    world.settle(store.delete_cookie("a:1", 1))
    assert result_of(store.read_cookie("a:1")) is None


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

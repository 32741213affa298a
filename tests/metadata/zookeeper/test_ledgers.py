"""Ledgers in a ZooKeeper in memory: lost answers, empty ranges, strange nodes.

The contract that all stores share is in contract.py.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from kazoo import exceptions

from bookkeeper_tx.errors import LedgerExists, MetadataConflict, MetadataCorrupt, NoSuchLedger
from bookkeeper_tx.metadata.ledger_record.serialization import parse, serialize
from bookkeeper_tx.metadata.uri import LAYOUTS
from bookkeeper_tx.metadata.zookeeper import ledgers
from bookkeeper_tx.metadata.zookeeper.paths import FLAT, HIERARCHICAL
from bookkeeper_tx.model import LedgerId
from tests.conftest import failure_of, result_of
from tests.metadata.contract import METADATA, SCOPE_ID
from tests.metadata.zookeeper.zookeeper_world import World

ROOT = "/made/ledgers"


@pytest.fixture(params=[HIERARCHICAL, FLAT])
def world(request: pytest.FixtureRequest) -> World:
    return World(request.param)


@pytest.fixture(params=[7, LedgerId(7, SCOPE_ID)], ids=["scope 0", "scoped"])
def ledger_id(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.mark.parametrize("carried_out", [True, False])
def test_create_with_a_lost_answer(world: World, ledger_id: int, carried_out: bool) -> None:
    store, session = world.open()
    result_of(store.create_ledger(ledger_id + 1, METADATA))  # so that the range is there
    session.lose("create", carried_out)
    created = world.settle(store.create_ledger(ledger_id, METADATA))
    assert created.version == 0
    assert world.server.nodes[world.path(ledger_id)].data == serialize(created.metadata)
    failure_of(store.create_ledger(ledger_id, METADATA), LedgerExists)


def test_create_with_a_lost_answer_of_text_metadata(world: World, ledger_id: int) -> None:
    store, session = world.open()
    result_of(store.create_ledger(ledger_id + 1, METADATA))
    session.lose("create", True)
    created = world.settle(store.create_ledger(ledger_id, evolve(METADATA, format_version=2)))
    assert parse(world.server.nodes[world.path(ledger_id)].data, ledger_id) == created.metadata


@pytest.mark.parametrize("carried_out", [True, False])
def test_create_whose_ranges_are_made_with_a_lost_answer(world: World, ledger_id: int, carried_out: bool) -> None:
    store, session = world.open()
    session.lose("commit", carried_out)
    created = world.settle(store.create_ledger(ledger_id, METADATA))
    assert world.server.nodes[world.path(ledger_id)].data == serialize(created.metadata)


def test_ranges_that_are_there_are_left_as_they_are(world: World, ledger_id: int) -> None:
    store, _ = world.open()
    far = ledger_id + 10**5  # shares some of the ranges
    result_of(store.create_ledger(ledger_id, METADATA))
    before = {each: node.czxid for each, node in world.server.nodes.items()}
    result_of(store.create_ledger(far, METADATA))
    assert world.path(far) in world.server.nodes
    assert {each: world.server.nodes[each].czxid for each in before} == before


def test_somebody_elses_ledger_is_not_taken_for_the_own_one(world: World, ledger_id: int) -> None:
    store, session = world.open()
    other, _ = world.open()
    result_of(other.create_ledger(ledger_id + 1, METADATA))
    result_of(other.create_ledger(ledger_id, METADATA))
    session.lose("create", False)
    creating = store.create_ledger(ledger_id, METADATA)
    world.wait(1)
    failure_of(creating, LedgerExists)


@pytest.mark.parametrize("carried_out", [True, False])
def test_write_with_a_lost_answer(world: World, ledger_id: int, carried_out: bool) -> None:
    store, session = world.open()
    created = result_of(store.create_ledger(ledger_id, METADATA))
    session.lose("set", carried_out)
    written = world.settle(store.write_ledger(ledger_id, created.metadata.with_close(5, 10), 0))
    assert written.version == 1
    assert result_of(store.read_ledger(ledger_id)) == written


def test_write_with_a_lost_answer_and_somebody_else_faster(world: World, ledger_id: int) -> None:
    store, session = world.open()
    created = result_of(store.create_ledger(ledger_id, METADATA))
    session.lose("set", False)
    writing = store.write_ledger(ledger_id, created.metadata.with_close(5, 10), 0)
    world.server.set(world.path(ledger_id), serialize(created.metadata.with_close(4, 8)))
    world.wait(1)
    failure_of(writing, MetadataConflict)


@pytest.mark.parametrize("carried_out", [True, False])
def test_delete_with_a_lost_answer(world: World, ledger_id: int, carried_out: bool) -> None:
    store, session = world.open()
    result_of(store.create_ledger(ledger_id, METADATA))
    session.lose("delete", carried_out)
    world.settle(store.delete_ledger(ledger_id))
    failure_of(store.read_ledger(ledger_id), NoSuchLedger)


def test_reads_are_repeated(world: World, ledger_id: int) -> None:
    store, session = world.open()
    created = result_of(store.create_ledger(ledger_id, METADATA))
    session.lose("get", False)
    session.lose("get", True)
    assert world.settle(store.read_ledger(ledger_id)) == created


def test_delete_removes_the_ranges_that_it_leaves_empty() -> None:
    world = World()
    store, _ = world.open()
    before = world.server.paths()
    for ledger_id in (7, 10007, 2**40, LedgerId(7, 1), LedgerId(8, 1), LedgerId(7, 2)):
        result_of(store.create_ledger(ledger_id, METADATA))
    result_of(store.delete_ledger(7))
    assert "/made/ledgers/00/0000" not in world.server.nodes
    assert "/made/ledgers/00" in world.server.nodes
    result_of(store.delete_ledger(10007))
    result_of(store.delete_ledger(2**40))
    result_of(store.delete_ledger(LedgerId(7, 1)))
    result_of(store.delete_ledger(LedgerId(8, 1)))
    assert world.server.children(f"{ROOT}/ID-128/0000/0000/0000") == ["0002"]
    result_of(store.delete_ledger(LedgerId(7, 2)))
    assert world.server.paths() == before


def test_list_skips_what_is_no_ledger() -> None:
    world = World()
    store, _ = world.open()
    result_of(store.create_ledger(5, METADATA))
    for name in ("idgen", "underreplication", "disableHealthCheck", "cookies", "ID-0000000001", "123", "55", "99"):
        world.server.create(f"/made/ledgers/{name}", b"")
    for path in ("00/0000/X0001", "00/0000/L00001", "00/xxxx", "99/9999", "99/9999/L9999"):
        world.server.create(f"/made/ledgers/{path}", b"")
    assert result_of(store.list_ledgers()) == [5]


def test_a_flat_list_skips_what_is_no_ledger() -> None:
    world = World(FLAT)
    store, _ = world.open()
    for ledger_id in (2**40, 5, LedgerId(6, SCOPE_ID)):
        result_of(store.create_ledger(ledger_id, METADATA))
    for name in ("idgen", "cookies", "ID-0000000001", "L001", "L00000000007", "X0000000007", "00"):
        world.server.create(f"{ROOT}/{name}", b"")
    assert result_of(store.list_ledgers()) == [5, 2**40]
    assert result_of(store.list_ledgers(None)) == [5, 2**40, LedgerId(6, SCOPE_ID)]


def test_corrupt_metadata_names_the_ledger(world: World) -> None:
    store, _ = world.open()
    result_of(store.create_ledger(7, METADATA))
    world.server.set(world.path(7), b"nonsense")
    assert "ledger 7" in str(failure_of(store.read_ledger(7), MetadataCorrupt))


def test_a_list_passes_over_a_range_that_vanishes_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    store, session = world.open()
    for ledger_id in (1, 10001, LedgerId(1, 5)):
        result_of(store.create_ledger(ledger_id, METADATA))
    submit = session.submit

    def deleting(name: str, node: str, *args: Any, **kwargs: Any) -> Any:
        answer = submit(name, node, *args, **kwargs)
        if node in (f"{ROOT}/00", f"{ROOT}/ID-128"):
            world.server.delete_all(world.path(10001) if node == f"{ROOT}/00" else world.path(LedgerId(1, 5)))
        return answer

    monkeypatch.setattr(session, "submit", deleting)
    assert result_of(store.list_ledgers(None)) == [1]


def test_a_long_list_lets_others_have_their_turn(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "TURN_NAMES", 10)
    store, _ = world.open()
    # Two full ranges, and many that are nearly empty.
    made = [*range(25), *range(10_000, 10_025), *(each * 10_000 for each in range(2, 22))]
    for each in made:
        result_of(store.create_ledger(each, METADATA))
    turns = []
    call_later = world.clock.callLater

    def counted(delay_s: float, *args: Any, **kwargs: Any) -> Any:
        if delay_s == 0:
            turns.append(delay_s)
        return call_later(delay_s, *args, **kwargs)

    monkeypatch.setattr(world.clock, "callLater", counted)
    listing = store.list_ledgers()
    assert not listing.called
    world.clock.advance(0)
    assert result_of(listing) == made
    assert len(turns) >= len(made) // 10 - 3


def test_a_list_that_two_sessions_have_read_begins_anew(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    store, session = world.open()
    for ledger_id in (1, 10_000, 2**40):
        result_of(store.create_ledger(ledger_id, METADATA))
    children, expired = world.server.children, []

    def stale_children(path: str) -> list[str]:
        """As of a server that is behind, to which a new session has come: there are no ledgers yet."""
        if not expired:
            expired.append(session.session_id)
            session.expire()
            return []
        return children(path)

    monkeypatch.setattr(world.server.__class__, "children", lambda _, path: stale_children(path))
    assert result_of(store.list_ledgers()) == [1, 10_000, 2**40]
    assert len(expired) == 1


def test_the_latest_metadata_is_read_in_the_session_that_was_synced(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, session = world.open()
    created = result_of(store.create_ledger(1, METADATA))
    node, asked = world.server.node, []

    def answer(path: str) -> Any:
        """As of a server that is behind, to which a new session has come: there is no ledger yet."""
        asked.append(session.session_id)
        if len(asked) == 1:
            session.expire()
            raise exceptions.NoNodeError
        return node(path)

    monkeypatch.setattr(world.server.__class__, "node", lambda _, path: answer(path))
    begun = len(world.server.requests)
    assert result_of(store.read_latest_ledger(1)) == created
    assert len(set(asked)) == 2
    named = [name for name, _ in world.server.requests[begun:] if name in ("sync", "get")]
    assert named == ["sync", "get"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_million_ledgers_are_listed_in_little_memory(layout: str) -> None:
    program = [sys.executable, "-m", "tests.metadata.zookeeper.listing_many", layout]
    done = subprocess.run(program, capture_output=True, check=True, cwd=Path(__file__).parents[3])
    assert int(done.stdout) < 300

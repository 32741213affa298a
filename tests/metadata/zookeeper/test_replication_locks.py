"""The locks of re-replication, which Java's workers take, too."""

from typing import Any

import pytest

from bookkeeper_tx.errors import MetadataUnavailable
from tests.conftest import failure_of, result_of
from tests.metadata.zookeeper.zookeeper_world import World

LOCKS = "/made/ledgers/underreplication/locks"


@pytest.fixture(autouse=True)
def folder(world: World) -> None:
    """Auto-recovery runs in the cluster."""
    world.open()
    world.server.create("/made/ledgers/underreplication", b"")
    world.server.create(LOCKS, b"")


def test_a_lock_keeps_others_out_until_it_is_given_back(world: World) -> None:
    (first, _), (second, _) = world.open(), world.open()
    assert result_of(first.lock_replication(7, "a:1")) is True
    assert world.server.nodes[f"{LOCKS}/urL0000000007"].data == b'bookieId: "a:1"\n'
    assert result_of(second.lock_replication(7, "b:1")) is False
    assert result_of(second.lock_replication(8, "b:1")) is True
    result_of(first.unlock_replication(7))
    assert result_of(second.lock_replication(7, "b:1")) is True


def test_where_no_auto_recovery_has_run_nobody_is_locked_out(world: World) -> None:
    for path in (LOCKS, "/made/ledgers/underreplication"):
        world.server.delete(path)
    store, _ = world.open()
    assert result_of(store.lock_replication(7, "a:1")) is True
    assert "/made/ledgers/underreplication" not in world.server.nodes
    world.server.create("/made/ledgers/underreplication", b"")
    world.server.create(LOCKS, b"")
    other, _ = world.open()
    assert result_of(other.lock_replication(7, "b:1")) is True
    result_of(store.unlock_replication(7))
    assert f"{LOCKS}/urL0000000007" in world.server.nodes


@pytest.mark.parametrize("carried_out", [True, False])
def test_a_lost_answer_is_no_other_one_s_lock(world: World, carried_out: bool) -> None:
    store, session = world.open()
    session.lose("create", carried_out)
    assert world.settle(store.lock_replication(7, "a:1")) is True
    session.lose("delete", carried_out)
    world.settle(store.unlock_replication(7))
    assert f"{LOCKS}/urL0000000007" not in world.server.nodes


def test_a_lock_that_another_one_has_taken_meanwhile_is_not_given_back_when_the_request_is_repeated(
    world: World,
) -> None:
    (store, session), (other, _) = world.open(), world.open()
    assert result_of(store.lock_replication(7, "a:1")) is True
    session.lose("delete", True)
    giving_back = store.unlock_replication(7)
    assert result_of(other.lock_replication(7, "b:1")) is True
    world.settle(giving_back)
    assert world.server.nodes[f"{LOCKS}/urL0000000007"].data == b'bookieId: "b:1"\n'


@pytest.mark.parametrize("while_it_is", ["taken", "given back"])
def test_a_lock_stays_no_longer_than_the_servers_are_away(world: World, while_it_is: str) -> None:
    (store, session), (other, _) = world.open(), world.open()
    if while_it_is == "taken":
        session.lose("create", True)
        asked = store.lock_replication(7, "a:1")
    else:
        assert result_of(store.lock_replication(7, "a:1")) is True
        session.lose("delete", False)
        asked = store.unlock_replication(7)
    session.down = True
    world.wait(30)
    failure_of(asked, MetadataUnavailable)
    assert f"{LOCKS}/urL0000000007" in world.server.nodes
    session.reconnect()
    world.wait(1)
    assert f"{LOCKS}/urL0000000007" not in world.server.nodes
    assert result_of(other.lock_replication(7, "b:1")) is True
    assert result_of(store.lock_replication(7, "a:1")) is False


def test_a_lock_is_had_though_the_connection_was_down_when_it_was_looked_at(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, session = world.open()
    own, submit = session.session_id, session.submit

    def submit_and_lose(name: str, path: str, *args: Any, **kwargs: Any) -> Any:
        answer = submit(name, path, *args, **kwargs)
        if name == "exists" and session.session_id is not None:
            monkeypatch.setattr(session, "submit", submit)
            session.session_id = None
            world.clock.callLater(0.5, setattr, session, "session_id", own)
        return answer

    monkeypatch.setattr(session, "submit", submit_and_lose)
    assert world.settle(store.lock_replication(7, "a:1")) is True
    world.settle(store.unlock_replication(7))
    assert f"{LOCKS}/urL0000000007" not in world.server.nodes


def test_a_lock_is_given_back_though_the_connection_was_down_when_it_was_looked_at(world: World) -> None:
    store, session = world.open()
    assert result_of(store.lock_replication(7, "a:1")) is True
    own, session.session_id = session.session_id, None
    giving_back = store.unlock_replication(7)
    session.session_id = own
    world.settle(giving_back)
    assert f"{LOCKS}/urL0000000007" not in world.server.nodes


def test_a_lock_whose_session_has_ended_is_not_given_back_for_who_has_it_now(world: World) -> None:
    (store, session), (other, _) = world.open(), world.open()
    assert result_of(store.lock_replication(7, "a:1")) is True
    session.expire()
    assert result_of(other.lock_replication(7, "b:1")) is True
    result_of(store.unlock_replication(7))
    assert world.server.nodes[f"{LOCKS}/urL0000000007"].data == b'bookieId: "b:1"\n'
    assert result_of(store.lock_replication(8, "a:1")) is True
    result_of(store.unlock_replication(8))
    assert f"{LOCKS}/urL0000000008" not in world.server.nodes

"""The locks of re-replication, which Java's workers take, too."""

import pytest

from tests.conftest import result_of
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

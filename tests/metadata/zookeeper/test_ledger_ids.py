"""The id generator on a ZooKeeper in memory: lost answers and overflow."""

import pytest

from bookkeeper_tx.errors import MetadataError
from tests.conftest import failure_of, result_of
from tests.metadata.contract import METADATA
from tests.metadata.zookeeper.zookeeper_world import World


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


def test_a_flat_cluster_numbers_ledgers_beside_them() -> None:
    world = World("flat")
    store, session = world.open()
    before = world.server.paths()
    first = result_of(store.new_ledger_id())
    assert world.server.requests[-2:] == [
        ("create", "/made/ledgers/ID-"),
        ("delete", f"/made/ledgers/ID-{first:010d}"),
    ]
    result_of(store.create_ledger(first, METADATA))
    session.lose("create", True)
    assert world.settle(store.new_ledger_id()) == first + 3
    result_of(store.delete_ledger(first))
    result_of(store.stop())
    assert world.server.paths() == before


@pytest.mark.parametrize("number", [2**31 - 1, -(2**31)])
def test_a_flat_cluster_whose_ids_have_run_out_says_so(number: int) -> None:
    world = World("flat")
    store, _ = world.open()
    world.server.nodes["/made/ledgers"].sequence = number
    assert "no more ledger ids" in str(failure_of(store.new_ledger_id(), MetadataError))
    assert "/made/ledgers/idgen-long" not in world.server.nodes
    result_of(store.create_ledger(2**31 + 5, METADATA))
    assert result_of(store.list_ledgers()) == [2**31 + 5]

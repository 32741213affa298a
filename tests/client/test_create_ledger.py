"""The id of a new ledger, and the bookies of a scoped one."""

from collections.abc import Sequence
from typing import Any

import pytest

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.errors import (
    IllegalOperation,
    InvalidArgument,
    LedgerExists,
    LedgerScopeNotSupported,
    NotEnoughBookies,
)
from bookkeeper_tx.model import LedgerId
from protocol_specs.fields import NO_ENTRY
from protocol_specs.metadata.bookie import BATCH_READ_V3, LEDGER_SCOPE_ID
from tests.client.puppets import Cluster

V3 = ClientConfig(protocol=WireProtocol.V3)
SCOPE_ID = -5


def scoped_cluster(bookies: Sequence[str] = ("b1", "b2", "b3", "b4", "b5"), seed: int = 1) -> Cluster:
    """A cluster whose bookies know scopes, and say so."""
    cluster = Cluster(bookies, seed)
    for bookie in cluster.bookies.values():
        bookie.extensions = frozenset({LEDGER_SCOPE_ID, BATCH_READ_V3})
    return cluster


def test_the_generator_gives_ids_of_scope_0() -> None:
    cluster = scoped_cluster()
    client = cluster.client()
    assert [cluster.result(client.create_ledger()).ledger_id for _ in range(2)] == [0, 1]


@pytest.mark.parametrize("ledger_id", [7, LedgerId(7), 2**63 - 1])
def test_an_id_of_scope_0_can_be_asked_for(ledger_id: int) -> None:
    cluster = scoped_cluster()
    client = cluster.client()
    writer = cluster.result(client.create_ledger(ledger_id=ledger_id))
    assert (writer.ledger_id, writer.scope_id, type(writer.ledger_id)) == (ledger_id, 0, int)
    with pytest.raises(LedgerExists):
        cluster.result(client.create_ledger(ledger_id=ledger_id))
    assert cluster.state.next_ledger_id == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"ledger_id": 7, "scope_id": SCOPE_ID}, LedgerId(7, SCOPE_ID)),
        ({"ledger_id": -7, "scope_id": SCOPE_ID}, LedgerId(-7, SCOPE_ID)),
        ({"ledger_id": LedgerId(7, SCOPE_ID)}, LedgerId(7, SCOPE_ID)),
        ({"ledger_id": int(LedgerId(7, SCOPE_ID))}, LedgerId(7, SCOPE_ID)),
    ],
)
def test_an_id_of_another_scope_can_be_asked_for(arguments: dict[str, int], expected: LedgerId) -> None:
    cluster = scoped_cluster()
    client = cluster.client(V3)
    writer = cluster.result(client.create_ledger(**arguments))
    assert (writer.ledger_id, writer.scope_id) == (expected, SCOPE_ID)
    with pytest.raises(LedgerExists):
        cluster.result(client.create_ledger(**arguments))


def test_a_scope_gets_random_ids_without_the_generator() -> None:
    cluster = scoped_cluster()
    client = cluster.client(V3)
    ids = [cluster.result(client.create_ledger(scope_id=SCOPE_ID)).ledger_id for _ in range(20)]
    assert len(set(ids)) == 20
    assert all(each.scope_id == SCOPE_ID and 0 <= each.ledger_id < 2**63 for each in ids)
    assert cluster.state.next_ledger_id == 0


def test_a_random_id_that_is_taken_is_drawn_again() -> None:
    cluster = scoped_cluster(seed=3)
    first = cluster.result(cluster.client(V3).create_ledger(scope_id=SCOPE_ID)).ledger_id
    second = cluster.result(cluster.client(V3).create_ledger(scope_id=SCOPE_ID)).ledger_id  # draws the same at first
    assert first != second


def test_random_ledger_ids_have_a_scope_of_their_own() -> None:
    drawn = {LedgerId.random() for _ in range(100)}
    assert len(drawn) == 100
    assert len({each.scope_id for each in drawn} - {0}) == 100


def test_a_scoped_ledger_is_opened_listed_and_deleted_by_either_form_of_its_id() -> None:
    cluster = scoped_cluster()
    client = cluster.client(V3)
    whole = LedgerId(7, SCOPE_ID)
    cluster.result(client.create_ledger(ledger_id=7))
    cluster.result(cluster.result(client.create_ledger(ledger_id=whole)).close())
    assert cluster.result(client.list_ledgers()) == [7]
    assert cluster.result(client.list_ledgers(None)) == [7, whole]
    (listed,) = cluster.result(client.list_ledgers(SCOPE_ID))
    assert (listed, listed.scope_id) == (whole, SCOPE_ID)
    for arguments in ({"ledger_id": whole}, {"ledger_id": 7, "scope_id": SCOPE_ID}):
        assert cluster.result(client.ledger_metadata(**arguments)).closed
        for reader in (client.open_ledger(**arguments), client.open_ledger_no_recovery(**arguments)):
            handle = cluster.result(reader)
            assert (handle.ledger_id, handle.scope_id) == (whole, SCOPE_ID)
    cluster.result(client.delete_ledger(7, scope_id=SCOPE_ID))
    assert cluster.result(client.list_ledgers(None)) == [7]


@pytest.mark.parametrize(
    "arguments",
    [
        {"ledger_id": LedgerId(7, SCOPE_ID), "scope_id": SCOPE_ID},
        {"ledger_id": 2**63, "scope_id": 1},
        {"ledger_id": -(2**63) - 1, "scope_id": 1},
        {"ledger_id": 7, "scope_id": 2**63},
        {"ledger_id": 7, "scope_id": "1"},
        {"ledger_id": 7, "scope_id": True},
        {"ledger_id": "7", "scope_id": 1},
        {"ledger_id": True},
        {"ledger_id": 2**64 - 1},
        {"ledger_id": 2**128},
    ],
)
def test_what_is_no_id_is_refused(arguments: dict[str, Any]) -> None:
    cluster = scoped_cluster()
    client = cluster.client(V3)
    for operation in (client.create_ledger, client.open_ledger, client.delete_ledger, client.ledger_metadata):
        with pytest.raises(InvalidArgument, match=r"ledger.id|scope_id"):
            cluster.result(operation(**arguments))
    assert not cluster.state.ledgers


def test_protocol_v2_knows_no_scopes() -> None:
    cluster = scoped_cluster()
    client = cluster.client(ClientConfig(protocol=WireProtocol.V2))
    whole = LedgerId(7, SCOPE_ID)
    for operation in (
        lambda: client.create_ledger(scope_id=SCOPE_ID),
        lambda: client.create_ledger(ledger_id=whole),
        lambda: client.open_ledger(whole),
        lambda: client.open_ledger_no_recovery(whole),
        lambda: client.entries_of(whole, "b1"),
    ):
        with pytest.raises(IllegalOperation, match=r"scope -5 .*WireProtocol.V3"):
            cluster.result(operation())
    assert not cluster.state.ledgers


def test_deferred_sync_reaches_the_writer() -> None:
    cluster = scoped_cluster()
    client = cluster.client(V3)
    writer = cluster.result(client.create_ledger(deferred_sync=True))
    cluster.result(writer.append(b"one"))
    assert writer.last_add_confirmed == NO_ENTRY
    cluster.result(writer.force())
    assert writer.last_add_confirmed == 0


def test_protocol_v2_cannot_defer_a_sync() -> None:
    cluster = scoped_cluster()
    with pytest.raises(IllegalOperation, match="v3"):
        cluster.result(cluster.client().create_ledger(deferred_sync=True))
    assert not cluster.state.ledgers


# Which bookies -------------------------------------------------------------------------------------------------------


def test_a_scoped_ledger_goes_to_bookies_that_know_scopes() -> None:
    cluster = scoped_cluster()
    for bookie_id in ("b1", "b4"):
        cluster.bookies[bookie_id].extensions = frozenset({BATCH_READ_V3})
    for _ in range(10):
        writer = cluster.result(cluster.client(V3).create_ledger(scope_id=SCOPE_ID))
        assert set(writer.metadata.last_fragment.ensemble) == {"b2", "b3", "b5"}


def test_bookies_that_published_nothing_are_not_ruled_out() -> None:
    cluster = scoped_cluster(["b1", "b2", "b3"])
    cluster.bookies["b1"].extensions = cluster.bookies["b3"].extensions = None
    writer = cluster.result(cluster.client(V3).create_ledger(scope_id=SCOPE_ID))
    assert set(writer.metadata.last_fragment.ensemble) == {"b1", "b2", "b3"}


def test_a_bookie_that_published_nothing_is_asked() -> None:
    cluster = scoped_cluster()
    for bookie_id in ("b1", "b4"):
        cluster.bookies[bookie_id].extensions, cluster.bookies[bookie_id].knows_scopes = None, False
    writer = cluster.result(cluster.client(V3).create_ledger(scope_id=SCOPE_ID))
    assert set(writer.metadata.last_fragment.ensemble) == {"b2", "b3", "b5"}
    cluster.bookies["b2"].extensions = frozenset()
    with pytest.raises(LedgerScopeNotSupported, match=r"scope -5: b1, b2, b4 "):
        cluster.result(cluster.client(V3).create_ledger(scope_id=SCOPE_ID))
    assert set(cluster.state.ledgers) == {writer.ledger_id}


def test_too_few_bookies_that_know_scopes() -> None:
    cluster = scoped_cluster(["b1", "b2", "b3"])
    cluster.bookies["b2"].extensions = frozenset()
    client = cluster.client(V3)
    with pytest.raises(LedgerScopeNotSupported, match=r"scope -5: b2 .* 3 bookies"):
        cluster.result(client.create_ledger(scope_id=SCOPE_ID))
    assert not cluster.state.ledgers
    cluster.result(client.create_ledger())  # scope 0 goes anywhere
    with pytest.raises(NotEnoughBookies):
        cluster.result(client.create_ledger(9, 9, 9, scope_id=SCOPE_ID))


@pytest.mark.parametrize("sizes", [(3, 4, 2), (3, 3, 0), (2, 3, 1), (3, 2, 3)])
def test_quorum_sizes_are_checked(sizes: tuple[int, int, int]) -> None:
    cluster = Cluster()
    with pytest.raises(InvalidArgument, match="does not hold"):
        cluster.result(cluster.client().create_ledger(*sizes))


def test_too_few_bookies_for_a_ledger() -> None:
    cluster = Cluster(["b1", "b2"])
    with pytest.raises(NotEnoughBookies, match="3 bookies are needed"):
        cluster.result(cluster.client().create_ledger())

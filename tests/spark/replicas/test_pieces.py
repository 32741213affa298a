"""Cutting ledgers into pieces: every entry is in one, with the bookies that should have it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.model import DigestType, Fragment
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.plan.ledger_chunks import ChosenLedgers
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange
from bookkeeper_tx.spark.replicas import plan as replica_plan
from bookkeeper_tx.spark.replicas.pieces import Piece, Share, pieces_of
from bookkeeper_tx.spark.replicas.plan import Size, Target, plan, plan_sizes
from tests.spark.stores import StoreOfDict, closed_ledger


@st.composite
def ranges(draw: st.DrawFn) -> LedgerRange:
    ensemble_size = draw(st.integers(1, 5))
    write_quorum_size = draw(st.integers(1, ensemble_size))
    starts = sorted({0, *draw(st.lists(st.integers(1, 60), max_size=3))})
    fragments = [Fragment(start, [f"{start}-{index}" for index in range(ensemble_size)]) for start in starts]
    last = draw(st.integers(0, 70))
    held = tuple(fragment for fragment in fragments if fragment.first_entry_id <= last)
    return LedgerRange(5, 0, last, held, ensemble_size, write_quorum_size, 1, DigestType.CRC32C)


@given(ledger=ranges(), block_size=st.integers(1, 40))
def test_every_entry_is_in_one_piece(ledger: LedgerRange, block_size: int) -> None:
    pieces = list(pieces_of(ledger, block_size))
    assert sorted(entry_id for piece in pieces for entry_id in piece.entry_ids) == list(range(ledger.last + 1))
    quorum = Quorum(ledger.ensemble_size, ledger.write_quorum_size, ledger.ack_quorum_size)
    for piece in pieces:
        assert piece.ledger.last // block_size == piece.ledger.first // block_size
        for entry_id in piece.entry_ids:
            fragment = [each for each in ledger.fragments if each.first_entry_id <= entry_id][-1]
            wanted = {fragment.ensemble[index] for index in quorum.write_set(entry_id)}
            assert set(piece.bookies) == wanted
            assert entry_id % piece.stripes == piece.stripe


@given(ledger=ranges(), block_size=st.integers(1, 40), shares=st.integers(1, 5))
def test_every_piece_is_in_one_share(ledger: LedgerRange, block_size: int, shares: int) -> None:
    pieces = list(pieces_of(ledger, block_size))
    owners = [[number for number in range(shares) if Share(number, shares).has(piece, block_size)] for piece in pieces]
    assert all(len(each) == 1 for each in owners)


def test_shares_stay_although_a_ledger_has_grown() -> None:
    def owned(last: int) -> set[int]:
        ledger = LedgerRange(5, 0, last, (Fragment(0, ["a"]),), 1, 1, 1)
        held: list[Piece] = [piece for piece in pieces_of(ledger, 10) if Share(1, 3).has(piece, 10)]
        return {entry_id for piece in held for entry_id in piece.entry_ids}

    assert owned(44) == {*range(10, 20), *range(40, 45)}
    assert owned(100) & set(range(45)) == owned(44)


TARGET = Target(entries=100, length=1000)


def test_small_ledgers_come_together_and_large_ones_are_shared() -> None:
    chosen = ChosenLedgers((1, 2, 3, 4), frozenset({3}))
    sizes = [Size(1, 40), Size(2, 250, 1000), Size(3, 50, 599), Size(4, 30)]
    tasks = plan_sizes(chosen, sizes, TARGET, None)
    assert [(task.chunk.ledger_ids, task.share, task.block_size) for task in tasks] == [
        ((2,), Share(0, 3), 84),
        ((2,), Share(1, 3), 84),
        ((2,), Share(2, 3), 84),
        ((1, 3), Share(), 100),
        ((4,), Share(), 100),
    ]
    assert tasks[3].chunk.named == {3}


def test_large_entries_count_by_their_bytes() -> None:
    chosen = ChosenLedgers((1, 2), frozenset())
    tasks = plan_sizes(chosen, [Size(1, 10, 4000), Size(2, 1, 9000)], TARGET, None)
    assert [(task.chunk.ledger_ids, task.share.of, task.block_size) for task in tasks] == [
        *[((1,), 4, 3)] * 4,
        ((2,), 1, 100),
    ]


def test_more_tasks_may_be_asked_for() -> None:
    tasks = plan_sizes(ChosenLedgers((1, 2), frozenset()), [Size(1, 10), Size(2, 10)], TARGET, 4)
    assert [(task.chunk.ledger_ids, task.block_size) for task in tasks] == [*[((1,), 5)] * 2, *[((2,), 5)] * 2]
    assert plan_sizes(ChosenLedgers((), frozenset()), [], TARGET, 4) == []
    assert len(plan_sizes(ChosenLedgers((1,), frozenset()), [Size(1)], TARGET, 4)) == 1


def test_no_task_is_made_of_ledgers_without_the_custom_metadata_asked_for() -> None:
    given = {
        "metadataServiceUri": "sqlite:///m",
        "maxEntriesPerPartition": "100",
        "ledgerMetadata.application": "orders",
    }
    store: Any = StoreOfDict(
        {1: closed_ledger(10**7), 2: closed_ledger(250, custom_metadata={"application": b"orders"})}
    )
    chosen = ChosenLedgers((1, 2), frozenset())
    tasks = plan(store, chosen, Options.from_spark(given, Use.REPLICAS))
    assert [(task.chunk.ledger_ids, task.share.of) for task in tasks] == [((2,), 3)] * 3


def test_custom_metadata_that_no_ledger_has_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    given = {"metadataServiceUri": "sqlite:///m", "ledgerMetadata.aplication": "orders"}
    store: Any = StoreOfDict({1: closed_ledger(250, custom_metadata={"application": b"orders"})})
    assert plan(store, ChosenLedgers((1,), frozenset()), Options.from_spark(given, Use.REPLICAS)) == []
    assert "options ledgerMetadata.aplication: none of 1 ledgers has all of this custom metadata" in caplog.text


def test_of_very_many_ledgers_only_the_ids_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    options = Options.from_spark({"metadataServiceUri": "sqlite:///m", "maxEntriesPerPartition": "100"}, Use.REPLICAS)
    store: Any = StoreOfDict({1: closed_ledger(250), 2: closed_ledger(50), 3: closed_ledger(0)})
    chosen = ChosenLedgers((1, 2, 3), frozenset())
    tasks = plan(store, chosen, options)
    assert [(task.chunk.ledger_ids, task.share.of) for task in tasks] == [*[((1,), 3)] * 3, ((2, 3), 1)]
    monkeypatch.setattr(replica_plan, "SIZES_LOOKED_AT_MAX", 2)
    store.ledgers.clear()
    assert [task.chunk.ledger_ids for task in plan(store, chosen, options)] == [(1, 2, 3)]
    monkeypatch.setattr(replica_plan, "CHUNK_MAX", 2)
    assert [task.chunk.ledger_ids for task in plan(store, chosen, options)] == [(1,), (2, 3)]


def test_ids_are_cut_evenly() -> None:
    chosen = ChosenLedgers(tuple(range(10)), frozenset({3}))
    chunks = chosen.chunks(4)
    assert [chunk.ledger_ids for chunk in chunks] == [(0, 1, 2), (3, 4, 5), (6, 7, 8, 9)]
    assert [chunk.named for chunk in chunks] == [frozenset(), frozenset({3}), frozenset()]
    assert len(chosen.chunks(100, 20)) == 10
    assert ChosenLedgers((), frozenset()).chunks(4, 3) == []

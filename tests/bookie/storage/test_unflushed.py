import pytest

from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.unflushed import HeaderChange, Unflushed
from bookkeeper_tx.bookie.storage.write_cache import WriteCache
from tests.bookie.seams import KEY, LEDGER, run_of
from tests.bookie.storage.storages import MARK


@pytest.fixture
def unflushed() -> Unflushed:
    return Unflushed(5000, 2000)


def changed(unflushed: Unflushed, ledger_id: int, *, indexed: bool = False, doubtful: bool = False) -> Ledger:
    ledger = Ledger(ledger_id, KEY)
    ledger.indexed = indexed
    unflushed.change(ledger, doubtful=doubtful)
    return ledger


def test_a_ledger_is_here_for_its_header_or_its_entries(unflushed: Unflushed) -> None:
    changed(unflushed, 1)
    unflushed.active.add(run_of(0, 30, ledger_id=2))
    for _ in range(2):
        assert unflushed
        assert [each for each in range(5) if each in unflushed] == [1, 2]
        if unflushed.snapshot is None:
            unflushed.take_snapshot(MARK)
    unflushed.flushed([1])
    assert [each for each in range(5) if each in unflushed] == [2]
    unflushed.flushed([2])
    assert 2 not in unflushed
    assert unflushed, "the flush has not ended"
    unflushed.all_flushed()
    assert not unflushed


def test_a_snapshot_does_not_change_with_what_comes_later(unflushed: Unflushed) -> None:
    ledger = changed(unflushed, 1)
    changed(unflushed, 2, indexed=True, doubtful=True)
    unflushed.active.add(run_of(0, 30, ledger_id=1))
    snapshot = unflushed.take_snapshot(MARK)
    header = ledger.header()
    ledger.fenced = True
    unflushed.change(ledger)
    unflushed.active.add(run_of(1, 30, ledger_id=1))
    assert snapshot.mark == MARK
    assert snapshot.headers[1] == HeaderChange(header, is_new=True)
    assert snapshot.headers[2] == HeaderChange(Ledger(2, KEY).header(), is_new=False, is_doubtful=True)
    assert snapshot.entries.ranges(1) == [range(1)]
    assert unflushed.ranges(1) == [range(1), range(1, 2)]
    assert [unflushed.find(1, each) is not None for each in range(3)] == [True, True, False]
    unflushed.flushed([1])
    assert unflushed.ranges(1) == [range(1, 2)]
    assert 1 in unflushed


def test_it_is_full_with_two_write_caches_whatever_their_parts(unflushed: Unflushed) -> None:
    for ledger_id in (1, 2):
        unflushed.active.add(run_of(0, 3000, ledger_id=ledger_id))
    unflushed.take_snapshot(MARK)
    unflushed.active.add(run_of(0, 2000, ledger_id=3))
    assert not unflushed.full
    unflushed.active.add(run_of(0, 2000, ledger_id=4))
    assert unflushed.full
    unflushed.flushed([1])
    assert not unflushed.full


def test_a_single_entry_takes_less_memory_than_a_run_of_one(unflushed: Unflushed) -> None:
    runs = WriteCache()
    for first, sizes in ((5, [40]), (1, [50]), (7, [40, 60])):
        unflushed.add(run_of(first, *sizes))
        runs.add(run_of(first, *sizes))
    assert runs.size_bytes - unflushed.active.size_bytes > 2 * 200
    for entry_id in (1, 5, 7, 8):
        run = unflushed.find(LEDGER, entry_id)
        assert run is not None
        assert run.entry(entry_id) == runs.find(LEDGER, entry_id).entry(entry_id)  # type: ignore[union-attr]
    assert unflushed.ranges(LEDGER) == [range(1, 2), range(5, 6), range(7, 9)]

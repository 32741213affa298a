"""Which copy of an entry a read of it gets, wherever copies are."""

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.memory_reads import MemoryReads
from bookkeeper_tx.bookie.storage.read_cache import ReadCache
from bookkeeper_tx.bookie.storage.unflushed import Unflushed
from bookkeeper_tx.bookie.storage.write_cache import WriteCache
from tests.bookie.seams import KEY, entry, run_of
from tests.bookie.storage.storages import MARK

ACTIVE, FLUSHING, READ_AHEAD = 31, 32, 33
"""Sizes of the copies in each place, the one to be read first: so one sees where an entry comes from."""

LEDGERS, ENTRIES = (1, 2, 3), 8
UNKNOWN = 9
EVERYTHING = [(ledger_id, entry_id) for ledger_id in LEDGERS for entry_id in range(ENTRIES)]

Place = set[tuple[int, int]]
places = st.sets(st.tuples(st.sampled_from(LEDGERS), st.integers(0, ENTRIES - 1)))
reads_of_any = st.lists(st.tuples(st.sampled_from([*LEDGERS, UNKNOWN]), st.integers(-1, ENTRIES)), max_size=40)


class Memory:
    """The memory of a bookie with entries in these places; those in the write caches by themselves or as runs."""

    def __init__(self, active: Place, flushing: Place, read_ahead: Place, *, as_runs: bool = False) -> None:
        self.ledgers = {each: Ledger(each, KEY) for each in LEDGERS}
        for each, ledger in self.ledgers.items():
            ledger.last_add_confirmed = 100 + each
        self.used: list[int] = []
        unflushed, cache = Unflushed(1 << 20, 1 << 20), ReadCache(1 << 20)
        _fill(unflushed.active, flushing, FLUSHING, as_runs)
        unflushed.take_snapshot(MARK)
        _fill(unflushed.active, active, ACTIVE, as_runs)
        for ledger_id, first, count in _stretches(read_ahead):
            cache.add(run_of(first, *[READ_AHEAD] * count, ledger_id=ledger_id))
        self.reads = MemoryReads(self.ledgers.get, self.used.append, unflushed, cache.find)


def _stretches(place: Place) -> list[tuple[int, int, int]]:
    """Ledger id, first entry id and number of all consecutive entries."""
    found = []
    for (ledger_id, _), group in groupby(enumerate(sorted(place)), lambda each: (each[1][0], each[1][1] - each[0])):
        ids = [entry_id for _, (_, entry_id) in group]
        found.append((ledger_id, ids[0], len(ids)))
    return found


def _fill(cache: WriteCache, place: Place, size: int, as_runs: bool) -> None:
    for ledger_id, first, count in _stretches(place):
        if as_runs:
            cache.add(run_of(first, *[size] * count, ledger_id=ledger_id))
        else:
            for entry_id in range(first, first + count):
                cache.add_record(ledger_id, entry_id, bytes(run_of(entry_id, size, ledger_id=ledger_id).buffer))


@given(places, places, places, st.booleans(), reads_of_any)
def test_the_latest_copy_of_each_entry_is_found(
    active: Place, flushing: Place, read_ahead: Place, as_runs: bool, reads: list[tuple[int, int]]
) -> None:
    reads = [*EVERYTHING, *reads]
    memory = Memory(active, flushing, read_ahead, as_runs=as_runs)
    found = memory.reads.find(reads, 1 << 20)
    assert found.end == len(reads)
    assert sorted(found.indexes + found.others) == list(range(len(reads)))
    assert found.indexes == sorted(found.indexes)
    for index, taken, confirmed in zip(found.indexes, found.entries, found.confirmed, strict=True):
        asked = ledger_id, entry_id = reads[index]
        size = ACTIVE if asked in active else FLUSHING if asked in flushing else READ_AHEAD
        assert taken == entry(entry_id, size, ledger_id)
        assert confirmed == 100 + ledger_id
    assert all(reads[index] not in active | flushing | read_ahead for index in found.others)
    assert {reads[index][0] for index in found.indexes} <= set(memory.used) <= set(LEDGERS)


@pytest.mark.parametrize("as_runs", [False, True])
@pytest.mark.parametrize("earlier", [FLUSHING, READ_AHEAD])
def test_a_later_copy_is_read_after_its_neighbour(earlier: int, as_runs: bool) -> None:
    run = {(1, entry_id) for entry_id in range(4)}
    places = (run, set()) if earlier == FLUSHING else (set(), run)
    found = Memory({(1, 2)}, *places, as_runs=as_runs).reads.find([(1, 1), (1, 2), (1, 3)], 1 << 20)
    assert list(map(len, found.entries)) == [earlier, ACTIVE, earlier]


def test_it_ends_after_so_many_bytes() -> None:
    reads = [(ledger_id, entry_id) for entry_id in range(3) for ledger_id in LEDGERS]
    found = Memory(set(reads), set(), set()).reads.find(reads, 4 * ACTIVE - 1)
    assert (found.end, found.indexes, found.others) == (4, [0, 1, 2, 3], [])


def test_what_is_not_there_does_not_count() -> None:
    reads = [(UNKNOWN, 0), (1, 7), (1, 0)]
    found = Memory({(1, 0)}, set(), set()).reads.find(reads, 1)
    assert (found.end, found.indexes, found.others) == (3, [2], [0, 1])

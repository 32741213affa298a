from array import array
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.bookie.storage.write_cache import (
    FLUSHED_SIZE_MAX,
    JOINED_COUNT_MAX,
    OFFSET_BYTES,
    RUN_OVERHEAD_BYTES,
    LedgerRuns,
    WriteCache,
    absent_parts,
    compacted,
    part_of,
)
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs.fields import NO_ENTRY
from tests.bookie.seams import entry, run_of


def test_runs_are_found_by_any_of_their_entries() -> None:
    cache = WriteCache()
    for first, count in ((0, 3), (3, 1), (10, 5)):
        cache.add(run_of(first, *[30] * count))
    found = {entry_id: cache.find(7, entry_id) for entry_id in range(-1, 17)}
    assert {entry_id for entry_id, run in found.items() if run} == {*range(4), *range(10, 15)}
    assert all(run.entry(entry_id) == entry(entry_id, 30) for entry_id, run in found.items() if run)
    assert cache.find(8, 0) is None
    assert (cache.last_entry_id(7), cache.last_entry_id(8)) == (14, NO_ENTRY)


def test_late_runs_take_their_place() -> None:
    cache = WriteCache()
    for first in (20, 0, 10, 5):
        cache.add(run_of(first, 30, 30))
    assert [run.first_entry_id for _, runs in cache for run in runs] == [0, 5, 10, 20]
    assert cache.last_entry_id(7) == 21


def test_ledgers_come_in_order() -> None:
    cache = WriteCache()
    for ledger_id in (9, 2, 300):
        cache.add(run_of(0, 30, ledger_id=ledger_id))
    assert [ledger_id for ledger_id, _ in cache] == [2, 9, 300]
    assert 9 in cache
    assert 8 not in cache


def test_the_size_counts_what_is_held_besides_the_bytes() -> None:
    cache = WriteCache()
    assert not cache
    cache.add(run_of(0, 30, 40))
    assert cache.size_bytes == 2 * RUN_OVERHEAD_BYTES + 2 * 4 + 70 + 3 * OFFSET_BYTES


def record_of(entry_id: int, size: int) -> bytes:
    return size.to_bytes(4, "big") + entry(entry_id, size)


@given(
    st.permutations(range(12)), st.lists(st.tuples(st.booleans(), st.integers(1, 3), st.integers(30, 31)), min_size=12)
)
def test_single_records_and_runs_are_found_alike(order: list[int], kinds: list[tuple[bool, int, int]]) -> None:
    """Entries 0, 4, 8 ... are first; each comes by itself, together with some after it, and in any order."""
    cache, sizes = WriteCache(), {}
    for place, (single, count, size) in zip(order, kinds, strict=False):
        first, count = 3 * place, 1 if single else count
        sizes |= dict.fromkeys(range(first, first + count), size)
        if single:
            cache.add_record(7, first, record_of(first, size))
        else:
            cache.add(run_of(first, *[size] * count))
    assert sum(map(len, cache.ranges(7))) == len(sizes)
    of_ledger = cache.find_ledger(7)
    assert of_ledger is not None
    for entry_id in range(-1, 40):
        run = cache.find(7, entry_id)
        assert (None if run is None else run.entry(entry_id)) == (
            entry(entry_id, sizes[entry_id]) if entry_id in sizes else None
        )
        held = of_ledger.find_held(entry_id)
        assert (held is None) is (run is None)
        if isinstance(held, bytes):
            assert held == record_of(entry_id, sizes[entry_id])
        else:
            assert held is run
    assert [entry_id for each in cache.ranges(7) for entry_id in each] == sorted(sizes)
    [(ledger_id, runs)] = cache
    assert (ledger_id, [each for run in runs for each in run]) == (
        7,
        [entry(entry_id, sizes[entry_id]) for entry_id in sorted(sizes)],
    )
    assert all(run.size == len(run.buffer) for run in runs)


def test_neighbours_that_came_by_themselves_are_joined_for_the_flush() -> None:
    cache = WriteCache()
    for entry_id in (0, 1, 2, 4, 5):
        for ledger_id in (7, 8):
            cache.add_record(ledger_id, entry_id, record_of(entry_id, 30))
    assert [[(run.first_entry_id, run.count) for run in runs] for _, runs in cache] == [[(0, 3), (4, 2)]] * 2
    run = cache.find(7, 1)
    assert run is not None
    assert (run.first_entry_id, run.count) == (1, 2)


def test_few_large_entries_are_joined_and_many_small_ones() -> None:
    cache = WriteCache()
    for entry_id in range(100):
        cache.add_record(7, entry_id, record_of(entry_id, 30_000))
        cache.add_record(8, entry_id, record_of(entry_id, 30))
    large, small = cache.find(7, 10), cache.find(8, 10)
    assert large is not None
    assert small is not None
    assert (large.count, small.count) == (3, JOINED_COUNT_MAX)
    [(_, flushed), _] = cache
    assert max(run.size for run in flushed) < FLUSHED_SIZE_MAX + 2 * 30_000
    assert [entry_id for run in flushed for entry_id in range(run.first_entry_id, run.last_entry_id + 1)] == list(
        range(100)
    )


class CountedItems(list[Any]):
    """A list that counts the items that are taken from it."""

    taken = 0

    def __getitem__(self, key: Any) -> Any:
        item = super().__getitem__(key)
        CountedItems.taken += len(item) if isinstance(key, slice) else 1
        return item


def test_a_flush_of_a_striped_ledger_looks_at_each_entry_once() -> None:
    """Of a ledger with E > Qw a bookie has two entries of three: no run is longer than two."""
    CountedItems.taken = 0
    runs = LedgerRuns(7)
    runs.firsts, runs.held = CountedItems(), CountedItems()
    for entry_id in range(3000):
        if entry_id % 3:
            runs.add_record(entry_id, record_of(entry_id, 30))
    assert len(runs.runs()) == 1000
    assert CountedItems.taken < 10 * 2000


@given(
    sizes=st.lists(st.integers(24, 60), min_size=1, max_size=8),
    before=st.integers(0, 1000),
    after=st.integers(0, 1000),
    kind=st.sampled_from([array, list, range]),
)
def test_a_compacted_run_holds_the_same_entries_in_less(sizes: list[int], before: int, after: int, kind: type) -> None:
    if kind is range:
        sizes = [sizes[0]] * len(sizes)
    plain = run_of(5, *sizes)
    offsets = [before + offset for offset in plain.offsets]
    shifted: dict[type, array[int] | list[int] | range] = {
        array: array("Q", offsets),
        list: offsets,
        range: range(before, offsets[-1] + 1, 4 + sizes[0]),
    }
    run = EntryRun(7, 5, bytes(before) + plain.buffer + bytes(after), shifted[kind])
    kept = compacted(run)
    assert list(kept) == list(run) == list(plain)
    assert type(kept.offsets) is (range if kind is range else array)
    assert len(kept.buffer) <= 1.25 * kept.size


@given(present=st.sets(st.integers(0, 9)), first=st.integers(0, 9), count=st.integers(1, 9))
def test_absent_parts_are_what_is_not_present(present: set[int], first: int, count: int) -> None:
    run = run_of(first, *range(30, 30 + count))
    parts = absent_parts(run, present.__contains__)
    found = {
        entry_id: part.entry(entry_id) for part in parts for entry_id in range(first, first + 20) if entry_id in part
    }
    assert found == {
        entry_id: run.entry(entry_id) for entry_id in range(first, first + count) if entry_id not in present
    }
    ends = [(part.first_entry_id, part.last_entry_id) for part in parts]
    assert all(last + 1 < following for (_, last), (following, _) in pairwise(ends))


def test_a_part_shares_the_buffer() -> None:
    run = run_of(3, 30, 31, 32)
    part = part_of(run, 4, 2)
    assert part.buffer is run.buffer
    assert list(part) == list(run)[1:]


def test_forgotten_ledgers_leave_nothing() -> None:
    cache = WriteCache()
    cache.add(run_of(0, 30, 40))
    before = cache.size_bytes
    cache.add(run_of(0, 30, ledger_id=8))
    for size in (50, 60):
        cache.add(run_of(size, size, ledger_id=9))
    for entry_id in (3, 4):
        cache.add_record(8, entry_id, b"\0" * 30)
    cache.forget([9, 8, 10])
    assert cache.size_bytes == before
    assert 8 not in cache
    assert cache.ranges(7) == [range(2)]
    assert (cache.find(9, 50), cache.last_entry_id(9)) == (None, NO_ENTRY)
    cache.forget([7])
    assert (cache.size_bytes, bool(cache)) == (0, False)

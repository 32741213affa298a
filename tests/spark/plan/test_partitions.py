"""Cutting ranges into tasks: everything once, in order, evenly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.model import DigestType, Fragment
from bookkeeper_tx.spark.plan.partitions import SizedRange, partition
from tests.spark.plan.ranges import ledger_range

sizes = st.lists(st.tuples(st.integers(1, 500), st.sampled_from([0.0, 10.0, 1000.0])), max_size=12)


def cut(
    counts: list[tuple[int, float]], entries: int, size: int, least: int | None
) -> list[list[tuple[int, int, int]]]:
    ranges = [SizedRange(ledger_range(each, 5, 5 + count - 1), mean) for each, (count, mean) in enumerate(counts)]
    return [
        [(each.ledger_id, each.first, each.last) for each in part] for part in partition(ranges, entries, size, least)
    ]


@given(sizes, st.integers(1, 200), st.sampled_from([100, 10_000, 10**9]), st.none() | st.integers(1, 20))
def test_each_entry_is_in_one_task(counts: list[tuple[int, float]], entries: int, size: int, least: int | None) -> None:
    parts = cut(counts, entries, size, least)
    found = [(ledger, entry) for part in parts for ledger, first, last in part for entry in range(first, last + 1)]
    assert found == [(each, entry) for each, (count, _) in enumerate(counts) for entry in range(5, 5 + count)]
    assert all(parts)
    for part in parts:
        assert sum(last - first + 1 for _, first, last in part) <= entries + 1


@given(st.lists(st.integers(1, 500), max_size=12), st.integers(1, 20))
def test_there_are_as_many_tasks_as_were_asked_for(counts: list[int], least: int) -> None:
    parts = cut([(count, 0.0) for count in counts], 10**6, 10**9, least)
    assert len(parts) == min(least, sum(counts))
    sizes = [sum(last - first + 1 for _, first, last in part) for part in parts]
    assert max(sizes, default=0) - min(sizes, default=0) <= 1


def test_small_ledgers_come_together_and_large_ones_are_cut() -> None:
    assert cut([(100, 0.0)] * 10, 500, 10**9, None) == [
        [(ledger, 5, 104) for ledger in range(5)],
        [(ledger, 5, 104) for ledger in range(5, 10)],
    ]
    assert cut([(1000, 0.0)], 400, 10**9, None) == [[(0, 5, 337)], [(0, 338, 671)], [(0, 672, 1004)]]


@pytest.mark.parametrize("entries", [1, 3, 50])
def test_many_small_ledgers_are_not_all_in_one_task(entries: int) -> None:
    parts = cut([(entries, 10.0)] * 100_000, 10**8, 10**12, None)
    assert len(parts) == 100
    assert max(map(len, parts)) <= 1001
    assert sum(last - first + 1 for part in parts for _, first, last in part) == 100_000 * entries


def test_a_large_ledger_among_many_small_ones_keeps_to_its_size() -> None:
    parts = cut([(1, 0.0)] * 5_000 + [(10_000, 0.0)] + [(1, 0.0)] * 5_000, 5_000, 10**9, None)
    assert len(parts) == 12
    for part in parts:
        assert sum(last - first + 1 for _, first, last in part) <= 5_001
        assert len(part) <= 1001


@pytest.mark.parametrize(("count", "tasks"), [(1000, 1), (1001, 2)])
def test_a_task_reads_a_thousand_ledgers(count: int, tasks: int) -> None:
    assert len(cut([(1, 0.0)] * count, 10**6, 10**9, None)) == tasks


def test_large_entries_make_more_tasks() -> None:
    assert len(cut([(1000, 1000.0)], 10**6, 100_000, None)) == 10


@pytest.mark.parametrize("first", [0, 10, 15, 30])
def test_no_range_goes_over_a_change_of_the_ensemble(first: int) -> None:
    fragments = (Fragment(0, ("a", "b")), Fragment(10, ("a", "c")), Fragment(25, ("d", "c")))
    whole = ledger_range(7, first, 39, fragments=fragments, digest_type=DigestType.CRC32C)
    (part,) = partition([SizedRange(whole)], 1000, 10**9, None)
    for each in part:
        (fragment,) = each.fragments
        assert fragment.first_entry_id <= each.first <= each.last
    covered = [fragment for fragment, end in zip(fragments, (9, 24, 39), strict=True) if end >= first]
    assert [each.fragments[0] for each in part] == covered
    assert sum(each.last - each.first + 1 for each in part) == 40 - first

from array import array
from itertools import count

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bookkeeper_tx.bookie.storage.held_page import located
from bookkeeper_tx.bookie.storage.ledger_cache import PAGE_BYTES, LedgerCache, PagePart
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.disk.ledger_index import LOCATION_SIZE, PAGE_COUNT
from protocol_specs.fields import NO_ENTRY
from protocol_specs.ledger_id import join

PAGE = array("Q", [1, 2])


BYTES = PAGE_BYTES + 16
"""Memory of :data:`PAGE`."""


def nothing_indexed(ledger_id: int) -> int:
    return NO_ENTRY


def test_the_pages_used_last_are_kept() -> None:
    cache = LedgerCache(2 * BYTES)
    cache.put((1, 0), PAGE, 0)
    cache.put((1, 1), PAGE, 0)
    assert cache.get((1, 0)) is PAGE
    cache.put((2, 0), PAGE, 0)
    assert cache.get((1, 1)) is None
    assert cache.get((1, 0)) is cache.get((2, 0)) is PAGE
    assert (len(cache), cache.size_bytes) == (2, 2 * BYTES)


def test_a_ledger_of_another_scope_has_pages_of_its_own() -> None:
    cache, scoped = LedgerCache(10**6), join(1, 7)
    cache.put((7, 0), array("Q", [10]), cache.generation)
    assert (scoped, 0) not in cache
    assert not cache.answers((scoped, 0))
    cache.put((scoped, 0), array("Q", [20, 21]), cache.generation)
    assert [cache.has_location(each, 1) for each in (7, scoped)] == [False, True]
    cache.flushed([PagePart(scoped, 0, 2, array("Q", [22]))], lambda _: 1)
    assert [cache.get((each, 0)) for each in (7, scoped)] == [array("Q", [10]), array("Q", [20, 21, 22])]
    cache.moved([PagePart(7, 0, 0, array("Q", [11]))])
    assert [cache.get((each, 0)) for each in (7, scoped)] == [array("Q", [11]), array("Q", [20, 21, 22])]
    held = cache.hold((7, 0))
    assert cache.hold((scoped, 0)) is not held
    cache.forget({7})
    assert [(each, 0) in cache for each in (7, scoped)] == [False, True]


def test_short_pages_take_little_memory() -> None:
    cache = LedgerCache(LOCATION_SIZE * PAGE_COUNT + PAGE_BYTES)
    for ledger_id in range(19):
        cache.put((ledger_id, 0), PAGE, 0)
    assert len(cache) == 19
    cache.put((19, 0), array("Q", bytes(LOCATION_SIZE * PAGE_COUNT)), 0)
    assert len(cache) == 1


def test_a_flush_adds_to_a_page() -> None:
    cache = LedgerCache(10**6)
    cache.put((1, 0), PAGE, 0)
    cache.put((1, 1), PAGE, 0)
    cache.flushed([PagePart(1, 0, 3, array("Q", [4, 5])), PagePart(1, 0, 1, array("Q", [9]))], lambda _: 1025)
    assert cache.get((1, 0)) == array("Q", [1, 9, 0, 4, 5])
    assert cache.get((1, 1)) is PAGE
    assert list(PAGE) == [1, 2]
    assert cache.size_bytes == 2 * PAGE_BYTES + 7 * LOCATION_SIZE


def test_a_flush_brings_pages_that_are_new_in_the_file_only() -> None:
    cache = LedgerCache(10**6)
    parts = [PagePart(1, number, 2, array("Q", [7])) for number in range(3)]
    cache.flushed(parts, {1: 1024}.__getitem__)
    assert [cache.get((1, number)) for number in range(3)] == [None, None, array("Q", [0, 0, 7])]


def test_a_new_page_whose_beginning_was_pushed_out_is_not_kept() -> None:
    cache = LedgerCache(10)
    begun, rest = PagePart(1, 0, 0, array("Q", [7])), PagePart(1, 0, 5, array("Q", [8]))
    cache.flushed([begun, rest], nothing_indexed)
    assert cache.get((1, 0)) == array("Q", [7, 0, 0, 0, 0, 8])
    cache.flushed([PagePart(2, 0, 0, array("Q", [7]))], nothing_indexed)
    assert cache.get((1, 0)) is None


def test_a_page_read_before_a_flush_is_not_kept_after_it() -> None:
    cache = LedgerCache(10**6)
    began = cache.generation
    cache.flushed([], nothing_indexed)
    cache.put((1, 0), PAGE, began)
    assert cache.get((1, 0)) is None
    cache.put((1, 0), PAGE, cache.generation)
    assert cache.get((1, 0)) is PAGE


stretches = st.tuples(st.integers(1, 2), st.integers(0, 3 * PAGE_COUNT), st.integers(1, 1500))
"""A ledger, the first entry of a run, and how many there are."""


@example([[(1, 0, 1), (1, 1024, 1)], (1, 0)])
@given(st.lists(st.one_of(st.lists(stretches, max_size=3), st.tuples(st.integers(1, 2), st.integers(0, 4)))))
def test_pages_are_those_of_the_files(actions: list[list[tuple[int, int, int]] | tuple[int, int]]) -> None:
    """Flushes of runs, and reads of pages, in any order, in a cache of a few pages."""
    cache, written = LedgerCache(12_000), count(1)
    files: dict[int, list[int]] = {1: [], 2: []}
    for action in actions:
        if isinstance(action, tuple):
            ledger_id, number = action
            page = files[ledger_id][number * PAGE_COUNT :][:PAGE_COUNT]
            cached = cache.get((ledger_id, number))
            if cached is not None:
                absent = [0] * (len(page) - len(cached))  # entries of later pages may be there already
                assert [*cached, *absent] == page
            elif page:
                cache.put((ledger_id, number), array("Q", page), cache.generation)
            continue
        last = {ledger_id: len(locations) - 1 for ledger_id, locations in files.items()}
        parts = []
        for ledger_id, first, size in sorted(action):
            for at in range(first, first + size):
                files[ledger_id] += [0] * (at + 1 - len(files[ledger_id]))
                files[ledger_id][at] = next(written)
            for number in range(first // PAGE_COUNT, (first + size - 1) // PAGE_COUNT + 1):
                start, end = max(first, number * PAGE_COUNT), min(first + size, (number + 1) * PAGE_COUNT)
                parts.append(PagePart(ledger_id, number, start % PAGE_COUNT, array("Q", files[ledger_id][start:end])))
        cache.flushed(parts, last.__getitem__)


def test_what_is_held_answers_without_the_page() -> None:
    cache = LedgerCache(1)
    cache.put((1, 0), PAGE, 0)
    held = cache.hold((1, 0))
    cache.put((2, 0), PAGE, 0)
    assert cache.get((1, 0)) is None
    assert (1, 0) in cache
    assert [cache.has_location(1, entry_id) for entry_id in (0, 1, 2)] == [True, True, False]
    del held
    assert (1, 0) not in cache
    assert not cache.answers((1, 0))


def test_who_holds_a_page_shares_what_others_read() -> None:
    cache = LedgerCache(1)
    first, second = cache.hold((1, 0)), cache.hold((1, 0))
    assert (1, 0) not in cache
    second.fill(located(PAGE))
    assert first.is_read
    assert cache.has_location(1, 1)


def test_a_flush_makes_what_is_held_old_even_if_it_is_still_to_be_read() -> None:
    cache = LedgerCache(1)
    before = cache.hold((1, 0))
    cache.flushed([PagePart(1, 0, 0, PAGE)], lambda _: 1)
    before.fill(located(PAGE))
    assert (1, 0) not in cache
    assert not cache.hold((1, 0)).is_read


def test_an_error_answers_as_long_as_it_is_held() -> None:
    cache = LedgerCache(1)
    held = cache.hold((1, 0))
    held.fill(StorageFailed("bad sector"))
    assert cache.answers((1, 0))
    assert (1, 0) not in cache
    with pytest.raises(StorageFailed, match="bad sector"):
        cache.has_location(1, 0)
    del held
    assert not cache.answers((1, 0))


def test_moved_entries_have_their_new_locations_and_waiting_requests_keep_what_they_know() -> None:
    cache = LedgerCache(10**6)
    cache.put((7, 0), array("Q", [10, 20, 30]), cache.generation)
    held = cache.hold((7, 0))
    before = cache.generation
    cache.moved([PagePart(7, 0, 1, array("Q", [99])), PagePart(8, 0, 0, array("Q", [5]))])
    assert cache.get((7, 0)) == array("Q", [10, 99, 30])
    assert (8, 0) not in cache
    assert held.has(1)
    assert cache.hold((7, 0)) is held
    cache.put((8, 0), array("Q", [4]), before)
    assert (8, 0) not in cache


def test_pages_of_deleted_ledgers_are_forgotten() -> None:
    cache = LedgerCache(10**6)
    for ledger_id in (7, 8):
        cache.put((ledger_id, 0), array("Q", [10]), cache.generation)
    held, size = cache.hold((7, 0)), cache.size_bytes
    before = cache.generation
    cache.forget({7})
    assert [(7, 0) in cache, (8, 0) in cache] == [False, True]
    assert cache.hold((7, 0)) is not held
    assert cache.size_bytes == size // 2
    cache.put((7, 0), array("Q", [10]), before)
    assert (7, 0) not in cache

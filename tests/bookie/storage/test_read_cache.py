from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.bookie.storage.read_cache import ReadCache
from tests.bookie.seams import entry, run_of


def test_runs_are_found_and_the_oldest_go_first() -> None:
    cache = ReadCache(3 * 500)
    for first in (0, 10, 20):
        cache.add(run_of(first, 50))
    assert cache.find(7, 0) is not None
    cache.add(run_of(30, 50))
    cache.add(run_of(40, 50))
    assert [entry_id for entry_id in range(0, 50, 10) if cache.find(7, entry_id)] == [0, 30, 40]
    assert cache.find(8, 0) is None
    assert cache.find(7, -1) is None


def test_the_run_found_last_goes_in_its_turn() -> None:
    cache = ReadCache(3 * 500)
    cache.add(run_of(0, 50))
    assert cache.find(7, 0) is not None
    for first in (10, 20, 30, 40):
        cache.add(run_of(first, 50))
    assert cache.find(7, 0) is None


def test_one_run_is_kept_however_large() -> None:
    cache = ReadCache(10)
    cache.add(run_of(0, 5000))
    assert cache.find(7, 0) is not None
    cache.add(run_of(1, 5000))
    assert cache.find(7, 0) is None
    assert cache.find(7, 1) is not None


def test_a_longer_run_takes_the_place_of_those_it_covers() -> None:
    cache = ReadCache(10**6)
    cache.add(run_of(3, 50))
    cache.add(run_of(5, 50))
    alone = cache.size_bytes
    cache.add(run_of(3, *[50] * 5))
    cache.add(run_of(3, *[50] * 2))
    found = cache.find(7, 5)
    assert found is not None
    assert found.count == 5
    assert cache.size_bytes < alone * 2


@given(runs=st.lists(st.tuples(st.integers(1, 2), st.integers(0, 30), st.integers(1, 9)), max_size=40))
def test_what_is_found_is_right_and_the_bound_holds(runs: list[tuple[int, int, int]]) -> None:
    cache = ReadCache(4000)
    for ledger_id, first, count in runs:
        cache.add(run_of(first, *[40] * count, ledger_id=ledger_id))
        assert cache.size_bytes <= 4000
        assert cache.find(ledger_id, first) is not None
        for entry_id in range(45):
            found = cache.find(ledger_id, entry_id)
            assert found is None or found.entry(entry_id) == entry(entry_id, 40, ledger_id)


def test_who_goes_through_a_ledger_leaves_two_runs() -> None:
    cache = ReadCache(10**6)
    for first in (0, 2, 4, 10):
        run = run_of(first, 50, 50)
        cache.add(run)
        cache.forget_before(run)
    assert [first for first in (0, 2, 4, 10) if cache.find(7, first)] == [2, 4, 10]


def test_the_runs_of_a_deleted_ledger_are_forgotten() -> None:
    cache = ReadCache(10**6)
    for run in (run_of(0, 41, 41), run_of(5, 41), run_of(0, 41, ledger_id=9)):
        cache.add(run)
    cache.find(7, 0)
    cache.forget(7)
    cache.forget(7)
    assert [cache.find(7, 0), cache.find(7, 5)] == [None, None]
    assert cache.find(9, 0) is not None
    cache.forget(9)
    assert cache.size_bytes == 0

from typing import Any

import pytest

from bookkeeper_tx.bookie.storage.checked_pieces import PIECE_SIZE_MAX
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.run_loader import READ_AHEAD_BYTES_MIN
from bookkeeper_tx.errors import NoSuchEntry, StorageFailed
from tests.bookie.crashing_disk import DIRECTORY, new_disk
from tests.bookie.seams import KEY, entry, run_of
from tests.bookie.storage.storages import add, flush, new_storage
from tests.bookie.workers import SteppedWorker
from tests.conftest import failure_of, result_of


class Cold:
    """A storage whose entries are all in the entry log, and whose read worker is moved by hand."""

    def __init__(self, *sizes: int, **limits: int) -> None:
        self.disk = new_disk()
        self.worker = SteppedWorker()
        self.storage: LedgerStorage = new_storage(self.disk, DIRECTORY, read_worker=self.worker, **limits)
        self.storage.open_for(7, KEY)
        add(self.storage, run_of(0, *sizes))
        flush(self.storage)

    def load(self, entry_id: int) -> Any:
        loading = self.storage.load_run(7, entry_id)
        self.worker.run_all()
        return result_of(loading)


def test_readers_of_one_page_share_a_load() -> None:
    cold = Cold(*[50] * 100)
    loadings = [cold.storage.load_run(7, entry_id) for entry_id in (3, 4, 50)]
    assert len(cold.worker.jobs) == 1
    cold.worker.run_all()
    runs = [result_of(each) for each in loadings]
    assert runs[0] is runs[1] is runs[2]
    assert runs[0].entry(50) == entry(50, 50)


def test_who_waited_in_vain_loads_for_itself() -> None:
    cold = Cold(*[50] * 100)
    loadings = [cold.storage.load_run(7, entry_id) for entry_id in (3, 1)]
    cold.worker.run_all()
    assert [result_of(each).first_entry_id for each in loadings] == [3, 1]


def test_one_broken_entry_does_not_break_the_load_of_another() -> None:
    cold = Cold(*[50] * 10)
    cold.disk.open(f"{DIRECTORY}/0.log", writable=True).write(b"x", 1031)
    loadings = [cold.storage.load_run(7, entry_id) for entry_id in (0, 5)]
    cold.worker.run_all()
    failure_of(loadings[0], StorageFailed)
    assert result_of(loadings[1]).first_entry_id == 5


def test_what_was_loaded_is_found_at_once() -> None:
    cold = Cold(*[50] * 100)
    assert cold.storage.cached_run(7, 3) is None
    run = cold.load(3)
    assert cold.storage.cached_run(7, 60) is run
    assert cold.load(60) is run


def test_a_sequential_reader_gets_more_at_once_each_time() -> None:
    cold = Cold(*[1000] * 2000, read_cache_bytes_max=4 * PIECE_SIZE_MAX)
    sizes = []
    next_id = 0
    while next_id < 1500:
        run = cold.load(next_id)
        sizes.append(run.size)
        next_id = run.last_entry_id + 1
    assert sizes[0] <= READ_AHEAD_BYTES_MIN
    assert all(READ_AHEAD_BYTES_MIN / 2 < size <= PIECE_SIZE_MAX for size in sizes[:-1])
    assert max(sizes) > PIECE_SIZE_MAX / 2
    assert cold.load(2).size <= READ_AHEAD_BYTES_MIN, "a jump of more than a page"


@pytest.mark.parametrize("entry_id", [-2, -1, 10, 5000])
def test_there_is_nothing_to_load_behind_the_last_entry(entry_id: int) -> None:
    cold = Cold(*[50] * 10)
    failure_of(cold.storage.load_run(7, entry_id), NoSuchEntry)
    assert not cold.worker.jobs


def test_a_gap_has_no_entry() -> None:
    cold = Cold(*[50] * 10)
    add(cold.storage, run_of(20, 50))
    flush(cold.storage)
    loading = cold.storage.load_run(7, 15)
    cold.worker.run_all()
    failure_of(loading, NoSuchEntry)


def test_a_page_read_during_a_flush_is_read_again_after_it() -> None:
    cold = Cold(*[50] * 10)
    early = cold.storage.load_run(7, 0)
    cold.worker.execute()
    add(cold.storage, run_of(10, 50))
    flush(cold.storage)
    cold.worker.run_all()
    result_of(early)
    assert cold.load(10).entry(10) == entry(10, 50)


def test_a_late_entry_is_found_after_its_page_was_cached() -> None:
    cold = Cold(*[50] * 10)
    add(cold.storage, run_of(20, 50))
    flush(cold.storage)
    cold.load(20)
    add(cold.storage, run_of(15, 60))
    assert cold.load(15).entry(15) == entry(15, 60)
    flush(cold.storage)
    assert cold.load(15).entry(15) == entry(15, 60)


def test_requests_that_a_reader_has_in_flight_do_not_count_as_jumps() -> None:
    cold = Cold(*[1000] * 2000, read_cache_bytes_max=4 * PIECE_SIZE_MAX)
    for first in range(0, 1000, 100):
        cold.load(first)
    assert cold.load(950).size > READ_AHEAD_BYTES_MIN


def test_what_the_system_has_in_memory_needs_no_thread() -> None:
    cold = Cold(*[1000] * 2000)
    cold.load(0)  # opens the files
    cold.disk.caches = True
    for entry_id in (500, 1999):
        run = result_of(cold.storage.load_run(7, entry_id))
        assert run.entry(entry_id) == entry(entry_id, 1000)
    assert not cold.worker.jobs


def test_what_is_wrong_in_memory_is_told_by_the_thread() -> None:
    cold = Cold(*[50] * 10)
    cold.load(9)
    cold.disk.caches = True
    cold.disk.open(f"{DIRECTORY}/0.log", writable=True).write(b"x", 1031)
    loading = cold.storage.load_run(7, 0)
    assert cold.worker.jobs
    cold.worker.run_all()
    failure_of(loading, StorageFailed)


def test_a_gap_in_memory_has_no_entry() -> None:
    cold = Cold(*[50] * 10)
    add(cold.storage, run_of(20, 50))
    flush(cold.storage)
    cold.disk.caches = True
    cold.load(20)
    loading = cold.storage.load_run(7, 15)
    cold.worker.run_all()
    failure_of(loading, NoSuchEntry)

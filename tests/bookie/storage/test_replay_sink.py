from functools import partial

import pytest

from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.replay_sink import StorageSink
from bookkeeper_tx.errors import NoSuchEntry, RefusedToStart, StorageFailed
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk, new_disk
from tests.bookie.seams import KEY, OTHER_KEY, entry, run_of
from tests.bookie.storage.storages import flush, index_files_only, new_storage, read
from tests.conftest import result_of

pytestmark = pytest.mark.usefixtures("ledger_storage_class")


@pytest.fixture
def storage(disk: CrashingDisk) -> LedgerStorage:
    return new_storage(disk, DIRECTORY, serving=False)


def test_records_of_a_ledger_without_key_are_passed_over(storage: LedgerStorage) -> None:
    sink = StorageSink(storage)
    sink.fence(7)
    sink.explicit_lac(7, bytes(20))
    sink.entries(run_of(0, 30))
    sink.finish()
    assert storage.ledger(7) is None
    assert sink.skipped == 3
    assert list(sink.passed_over.ascending()) == [7]
    assert not storage.dirty


def test_what_was_passed_over_of_a_ledger_that_was_deleted_then_is_nothing_that_was_lost(
    storage: LedgerStorage,
) -> None:
    sink = StorageSink(storage)
    sink.fence(9)  # of a ledger without entries, by Java
    sink.entries(run_of(0, 30))
    sink.deleted(7)
    sink.key(7, KEY)
    sink.entries(run_of(0, 30))
    sink.entries(run_of(0, 30, ledger_id=8))
    sink.key(8, KEY)
    sink.finish()
    assert list(sink.passed_over.ascending()) == [8]


def test_records_behind_a_key_are_taken(storage: LedgerStorage) -> None:
    sink = StorageSink(storage)
    sink.key(7, KEY)
    sink.fence(7)
    sink.explicit_lac(7, bytes(20))
    sink.entries(run_of(0, 30))
    sink.finish()
    ledger = storage.ledger(7)
    assert ledger is not None
    assert ledger.fenced
    assert ledger.explicit_lac == bytes(20)
    assert read(storage, 7, 0) == entry(0, 30)


@pytest.mark.parametrize("seed", range(10))
def test_what_a_killed_flush_left_in_the_page_cache_is_made_durable(seed: int) -> None:
    disk = new_disk(seed)
    killed = new_storage(disk, DIRECTORY)
    killed.open_for(7, KEY)
    flush(killed)
    killed.fence(killed.open_for(7, KEY)[0])
    killed.fence(killed.open_for(8, KEY)[0])
    disk.syncs_lie = True  # a kill between a write and its sync: the next process reads what was written
    flush(killed)
    disk.syncs_lie = False
    again = new_storage(disk, DIRECTORY, serving=False)
    sink = StorageSink(again)
    for ledger_id in (7, 8):
        sink.key(ledger_id, KEY)
        sink.fence(ledger_id)
    sink.finish()
    again.flush_now()
    disk.restart()
    for ledger_id in (7, 8):
        ledger = new_storage(disk, DIRECTORY).ledger(ledger_id)
        assert ledger is not None
        assert ledger.fenced


def test_what_a_replay_could_not_flush_is_flushed_before_what_came_later(disk: CrashingDisk) -> None:
    storage = new_storage(disk, DIRECTORY, serving=False, write_cache_bytes_max=1000)
    sink = StorageSink(storage)
    sink.key(7, KEY)
    disk.fail_writes(1)
    sink.entries(run_of(0, 2000))
    sink.entries(run_of(1, 300))
    sink.finish()
    assert storage.flush_unfinished
    storage.flush_now()
    assert not storage.dirty
    result_of(storage.stop())
    again = new_storage(disk, DIRECTORY)
    assert [read(again, 7, each) for each in (0, 1)] == [entry(0, 2000), entry(1, 300)]


def test_a_deletion_after_a_flush_that_failed_harms_no_other_ledger(disk: CrashingDisk) -> None:
    storage = new_storage(disk, DIRECTORY, serving=False, write_cache_bytes_max=1000)
    sink = StorageSink(storage)
    for ledger_id in (7, 8):
        sink.key(ledger_id, KEY)
        sink.entries(run_of(0, 300, ledger_id=ledger_id))
    disk.fail_writes(1)
    sink.entries(run_of(1, 2000, ledger_id=8))
    sink.deleted(7)
    sink.finish()
    assert storage.flush_unfinished
    storage.flush_now()
    assert not storage.dirty
    assert [read(storage, 8, each) for each in (0, 1)] == [entry(0, 300, 8), entry(1, 2000, 8)]
    assert storage.ledger(7) is not None, "the next garbage collection finds it"


def test_a_deletion_is_taken_in_memory_while_nothing_is_flushed(disk: CrashingDisk) -> None:
    storage = new_storage(disk, DIRECTORY, serving=False)
    sink = StorageSink(storage, "nothing is flushed yet")
    sink.key(7, KEY)
    sink.entries(run_of(0, 300))
    sink.deleted(7)
    assert storage.ledger(7) is None
    assert not storage.dirty


def test_the_key_in_the_index_stands(disk: CrashingDisk, storage: LedgerStorage) -> None:
    StorageSink(storage).key(7, KEY)
    flush(storage)
    again = new_storage(disk, DIRECTORY, serving=False)
    sink = StorageSink(again)
    sink.key(7, OTHER_KEY)
    sink.entries(run_of(0, 30))
    ledger = again.ledger(7)
    assert ledger is not None
    assert ledger.master_key == KEY
    assert read(again, 7, 0) == entry(0, 30)


def test_a_replayed_entry_takes_the_place_of_an_older_one(disk: CrashingDisk, storage: LedgerStorage) -> None:
    sink = StorageSink(storage)
    sink.key(7, KEY)
    sink.entries(run_of(0, 30, 31))
    flush(storage)
    again = new_storage(disk, DIRECTORY, serving=False)
    StorageSink(again).entries(run_of(0, 50, 51))
    flush(again)
    assert [len(read(again, 7, entry_id)) for entry_id in (0, 1)] == [50, 51]


def test_an_index_that_points_behind_the_log_is_put_right(disk: CrashingDisk, storage: LedgerStorage) -> None:
    sink = StorageSink(storage)
    sink.key(7, KEY)
    sink.entries(run_of(0, 30, 31))
    flush(storage)
    disk.open(f"{DIRECTORY}/0.log", writable=True).truncate(1024)
    again = new_storage(disk, DIRECTORY, serving=False)
    with pytest.raises(StorageFailed):
        read(again, 7, 0)
    StorageSink(again).entries(run_of(0, 30, 31))
    flush(again)
    assert read(again, 7, 1) == entry(1, 31)


def test_a_long_replay_is_flushed_on_the_way(disk: CrashingDisk) -> None:
    storage = new_storage(disk, DIRECTORY, serving=False, write_cache_bytes_max=5000)
    sink = StorageSink(storage)
    sink.key(7, KEY)
    for first in range(0, 100, 5):
        sink.entries(run_of(first, *[200] * 5))
        assert not storage.full
    # A second copy of entries that this replay has flushed does not replace the first one.
    sink.entries(run_of(0, 300))
    sink.finish()
    flush(storage)
    assert [len(read(storage, 7, entry_id)) for entry_id in range(100)] == [200] * 100
    with pytest.raises(NoSuchEntry):
        read(storage, 7, 100)


@index_files_only
@pytest.mark.parametrize("data", [b"", bytes(1024)])
def test_an_index_that_a_crash_left_unfinished_is_made_again(
    disk: CrashingDisk, storage: LedgerStorage, data: bytes
) -> None:
    disk.make_directories(f"{DIRECTORY}/0/7")
    disk.replace(f"{DIRECTORY}/0/7/7.idx", data)
    sink = StorageSink(storage)
    sink.key(7, KEY)
    sink.entries(run_of(0, 30))
    sink.finish()
    flush(storage)
    again = new_storage(disk, DIRECTORY)
    assert read(again, 7, 0) == entry(0, 30)


@index_files_only
@pytest.mark.parametrize("data", [b"", bytes(1024)])
def test_records_of_an_index_without_header_and_key_are_not_given_up(disk: CrashingDisk, data: bytes) -> None:
    disk.make_directories(f"{DIRECTORY}/0/7")
    disk.replace(f"{DIRECTORY}/0/7/7.idx", data)
    again = new_storage(disk, DIRECTORY, serving=False)
    for record in (partial(StorageSink(again).entries, run_of(0, 30)), partial(StorageSink(again).fence, 7)):
        with pytest.raises(RefusedToStart, match=r"7\.idx has no header"):
            record()


def test_entries_that_an_index_has_from_before_are_replayed_without_a_look_at_it(
    disk: CrashingDisk, storage: LedgerStorage
) -> None:
    sink = StorageSink(storage)
    sink.key(7, KEY)
    sink.entries(run_of(0, 30, 30, 30))
    flush(storage)
    again = new_storage(disk, DIRECTORY, serving=False)
    sink = StorageSink(again)
    sink.key(7, KEY)
    disk.crash()
    for entry_id in (1, 0, 2):
        sink.entries(run_of(entry_id, 30))
    assert again.unflushed_ranges(7) == [range(1), range(1, 2), range(2, 3)]


def test_a_ledger_that_was_put_into_limbo_outlives_an_older_record_that_it_is_deleted(disk: CrashingDisk) -> None:
    """The journal may have been kept when the ledgers were lost, and has such a record of one that came back."""
    storage = new_storage(disk, DIRECTORY)
    for ledger_id in (7, 8):
        storage.limbo.enter(storage.open_for(ledger_id, KEY)[0], fenced=True)
    seven = storage.ledger(7)
    assert seven is not None
    storage.limbo.leave(seven)
    flush(storage)
    storage = new_storage(disk, DIRECTORY, serving=False)
    sink = StorageSink(storage)
    for ledger_id in (7, 8):
        sink.deleted(ledger_id)
    sink.finish()
    assert storage.ledger(7) is None
    kept = storage.ledger(8)
    assert kept is not None
    assert kept.limbo

"""Deleting ledgers and logs, and moving entries, in a storage that goes on serving."""

from typing import Any

import pytest
from twisted.internet.defer import Deferred, succeed

from bookkeeper_tx.bookie.storage.collection import FlushIncomplete
from bookkeeper_tx.bookie.storage.deleted_ledgers import SECONDS_PER_DAY
from bookkeeper_tx.bookie.storage.entry_log import PlacedRun
from bookkeeper_tx.bookie.storage.entry_log_metadata import LogName
from bookkeeper_tx.bookie.storage.entry_log_scan import scan
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.replay_sink import StorageSink
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import LedgerFenced, NoSuchEntry, NoSuchLedger, StorageFailed
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk, CrashingFile, new_disk
from tests.bookie.seams import KEY, OTHER_KEY, SCOPED, entry, run_of
from tests.bookie.storage.storages import MARK, add, flush, new_storage, read
from tests.bookie.workers import SteppedWorker
from tests.conftest import failure_of, result_of

DAY_S = SECONDS_PER_DAY


@pytest.fixture
def storage(disk: CrashingDisk) -> LedgerStorage:
    return new_storage(disk, DIRECTORY)


def stored(storage: LedgerStorage, ledger_id: int = 7, *sizes: int) -> None:
    """Have a ledger with entries, flushed."""
    storage.open_for(ledger_id, KEY)
    add(storage, run_of(0, *(sizes or (60, 60)), ledger_id=ledger_id))
    flush(storage)


def delete(storage: LedgerStorage, *ledger_ids: int) -> list[int]:
    return result_of(storage.collection.delete_ledgers(ledger_ids))


def reopened(disk: CrashingDisk, storage: LedgerStorage) -> LedgerStorage:
    result_of(storage.stop())
    return new_storage(disk, DIRECTORY)


def found(disk: CrashingDisk, name: LogName) -> list[PlacedRun]:
    file = disk.open(f"{DIRECTORY}/{name.file_name}")
    return [each for runs in scan(file, name.log_id, name.scoped) for each in runs]


def logs(storage: LedgerStorage) -> list[str]:
    return [each.file_name for each in result_of(storage.collection.finished_logs())]


# Ledgers -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ledger_id", [7, SCOPED])
def test_a_deleted_ledger_is_unknown_now_and_after_a_restart(
    disk: CrashingDisk, storage: LedgerStorage, ledger_id: int
) -> None:
    stored(storage, ledger_id)
    stored(storage, 8)
    read(storage, ledger_id, 0)
    assert delete(storage, ledger_id, 99) == [ledger_id]
    disk.crash()
    disk.restart()
    for each in (storage, new_storage(disk, DIRECTORY)):
        assert each.ledger(ledger_id) is None
        assert each.cached_run(ledger_id, 0) is None
        failure_of(each.load_run(ledger_id, 0), NoSuchLedger)
        assert list(each.collection.ledger_ids()) == [8]
    assert not [each for each in disk.list_directory(DIRECTORY) if each == "7fffffff"]


def test_directories_of_scoped_ledgers_go_with_them(disk: CrashingDisk, storage: LedgerStorage) -> None:
    names = disk.list_directory(DIRECTORY)
    stored(storage, SCOPED)
    assert disk.list_directory(DIRECTORY) != names
    delete(storage, SCOPED)
    assert set(disk.list_directory(DIRECTORY)) - {*names, "0.log128", "lastId"} == set()
    stored(storage, SCOPED)
    assert read(storage, SCOPED, 1) == entry(1, 60, SCOPED)


def test_a_ledger_with_changes_that_are_not_flushed_stays(storage: LedgerStorage) -> None:
    stored(storage, 7)
    stored(storage, 8)
    add(storage, run_of(2, 60))
    assert delete(storage, 7, 8) == [8]
    flush(storage)
    assert delete(storage, 7) == [7]


def test_a_change_while_ledgers_are_deleted_keeps_its_ledger(disk: CrashingDisk) -> None:
    worker = SteppedWorker()
    storage = new_storage(disk, DIRECTORY, flush_worker=worker)
    for ledger_id in (7, 8):
        storage.open_for(ledger_id, KEY)
        add(storage, run_of(0, 60, ledger_id=ledger_id))
    flushing = storage.flush(lambda: MARK)
    worker.run_all()
    result_of(flushing)
    deleting = storage.collection.delete_ledgers([7, 8])
    worker.execute()
    ledger = storage.ledger(7)
    assert ledger is not None
    storage.fence(ledger)
    worker.run_all()
    assert result_of(deleting) == [8]
    assert storage.ledger(7) is ledger


def test_what_is_added_while_the_index_is_removed_is_a_new_ledger(disk: CrashingDisk) -> None:
    worker = SteppedWorker()
    storage = new_storage(disk, DIRECTORY, flush_worker=worker)
    storage.open_for(7, KEY)
    add(storage, run_of(0, 60, 60))
    flushing = storage.flush(lambda: MARK)
    worker.run_all()
    result_of(flushing)
    deleting = storage.collection.delete_ledgers([7])
    worker.step()
    assert storage.ledger(7) is None
    assert storage.open_for(7, OTHER_KEY)[1]
    add(storage, run_of(5, 70))
    flushing = storage.flush(lambda: MARK)
    worker.run_all()
    assert result_of(deleting) == [7]
    result_of(flushing)
    disk.crash()
    disk.restart()
    again = new_storage(disk, DIRECTORY)
    assert read(again, 7, 5) == entry(5, 70)
    failure_of(again.load_run(7, 0), NoSuchEntry)
    assert again.ledger(7).master_key == OTHER_KEY  # type: ignore[union-attr]


def test_a_ledger_that_was_read_while_it_was_deleted_is_not_known_again(disk: CrashingDisk) -> None:
    stored(new_storage(disk, DIRECTORY), 7)
    reading = SteppedWorker()
    storage = new_storage(disk, DIRECTORY, read_worker=reading)
    loading = storage.loader.load(7)
    reading.execute()
    assert delete(storage, 7) == [7]
    reading.deliver()
    result_of(loading)
    assert storage.loader.knows(7)
    assert storage.ledger(7) is None
    assert storage.open_for(7, KEY)[1]
    add(storage, run_of(0, 60))
    flush(storage)
    loaded = storage.load_run(7, 0)
    reading.run_all()
    assert result_of(loaded).entry(0) == entry(0, 60)


def test_the_journal_knows_before_the_index_goes(disk: CrashingDisk, storage: LedgerStorage) -> None:
    stored(storage, 7)
    journaled: Deferred[bool] = Deferred()
    storage.collection.journal_deleted = lambda ledger_ids: journaled
    deleting = storage.collection.delete_ledgers([7])
    assert disk.exists(f"{DIRECTORY}/0/7/7.idx")
    journaled.callback(True)
    assert result_of(deleting) == [7]
    assert not disk.exists(f"{DIRECTORY}/0/7/7.idx")


def test_an_index_that_cannot_be_removed_keeps_no_other_and_is_removed_later(
    disk: CrashingDisk, storage: LedgerStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for ledger_id in (7, 8, 9):
        stored(storage, ledger_id)
    remove = disk.remove

    def fail(path: str) -> None:
        if not path.endswith("/9.idx"):
            raise OSError(5, "broken")
        remove(path)

    with monkeypatch.context() as patched:
        patched.setattr(disk, "remove", fail)
        assert delete(storage, 7, 8, 9) == [7, 8, 9]
        logs(storage)
    assert [disk.exists(f"{DIRECTORY}/0/{each}/{each}.idx") for each in (7, 8, 9)] == [True, True, False]
    assert [storage.ledger(each) for each in (7, 8, 9)] == [None] * 3
    storage.open_for(8, OTHER_KEY)
    add(storage, run_of(5, 60, ledger_id=8))
    flush(storage)
    logs(storage)
    storage = reopened(disk, storage)
    assert list(storage.collection.ledger_ids()) == [8]
    assert storage.ledger(8).master_key == OTHER_KEY  # type: ignore[union-attr]
    failure_of(storage.load_run(8, 0), NoSuchEntry)


def test_what_comes_after_a_deletion_that_has_failed_survives_the_replay_of_the_deletion(
    disk: CrashingDisk, storage: LedgerStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(storage, 7)

    def fail(path: str) -> None:
        raise OSError(5, "broken")

    with monkeypatch.context() as patched:
        patched.setattr(disk, "remove", fail)
        delete(storage, 7)
    ledger, made = storage.open_for(7, KEY)
    assert made  # so its key is journaled once more
    records = storage.add(ledger, run_of(0, 60))
    assert records
    result_of(storage.stop())
    again = new_storage(disk, DIRECTORY, serving=False)
    sink = StorageSink(again)
    sink.deleted(7)
    sink.key(7, KEY)
    sink.entries(run_of(0, 60))
    sink.finish()
    assert read(again, 7, 0) == entry(0, 60)


def test_a_replay_brings_no_deleted_ledger_back(disk: CrashingDisk, storage: LedgerStorage) -> None:
    stored(storage, 7)
    result_of(storage.stop())
    again = new_storage(disk, DIRECTORY, serving=False)
    sink = StorageSink(again)
    for ledger_id in (7, 8, 9):
        sink.key(ledger_id, KEY)
        sink.entries(run_of(0, 60, ledger_id=ledger_id))
        sink.deleted(ledger_id)
    sink.key(9, KEY)
    sink.entries(run_of(3, 60, ledger_id=9))
    sink.finish()
    assert [again.ledger(each) is None for each in (7, 8, 9)] == [True, True, False]
    flush(again)
    assert list(again.collection.ledger_ids()) == [9]
    failure_of(again.load_run(9, 0), NoSuchEntry)
    disk.crash()
    disk.restart()
    assert list(new_storage(disk, DIRECTORY).collection.ledger_ids()) == [9]


# Fenced ledgers ------------------------------------------------------------------------------------------------------


class Time:
    def __init__(self) -> None:
        self.now_s = 20_000.0 * DAY_S

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize("in_memory", [True, False])
def test_a_fenced_ledger_takes_no_ordinary_adds_for_seven_days_after_its_deletion(
    disk: CrashingDisk, in_memory: bool
) -> None:
    """A writer that was fenced off must not begin a ledger anew when it was deleted (BK#4462)."""
    time = Time()
    storage = new_storage(disk, DIRECTORY, time_s=time)
    stored(storage, 8)
    stored(storage, 7)
    storage.fence(storage.ledger(7))  # type: ignore[arg-type]
    flush(storage)
    if not in_memory:
        result_of(storage.stop())
        storage = new_storage(disk, DIRECTORY, time_s=time)
    assert delete(storage, 7, 8) == [7, 8]
    result_of(storage.stop())
    for _ in range(2):
        storage = new_storage(disk, DIRECTORY, time_s=time)
        with pytest.raises(LedgerFenced):
            storage.open_for(7, KEY, ordinary=True)
        assert storage.ledger(7) is None
        time.now_s += 6.9 * DAY_S / 2
    assert storage.open_for(8, KEY, ordinary=True)[1]
    time.now_s += 2 * DAY_S
    assert storage.open_for(7, KEY, ordinary=True)[1]


def test_without_the_file_of_them_its_writer_may_begin_it_anew(disk: CrashingDisk, storage: LedgerStorage) -> None:
    stored(storage, 7)
    storage.fence(storage.ledger(7))  # type: ignore[arg-type]
    flush(storage)
    delete(storage, 7)
    result_of(storage.stop())
    with pytest.raises(LedgerFenced):
        new_storage(disk, DIRECTORY).open_for(7, KEY, ordinary=True)
    disk.remove(f"{DIRECTORY}/deletedLedgers")
    ledger, made = new_storage(disk, DIRECTORY).open_for(7, KEY, ordinary=True)
    assert (made, ledger.fenced) == (True, False)


def test_recovery_makes_it_again_and_it_is_fenced_at_once(disk: CrashingDisk, storage: LedgerStorage) -> None:
    stored(storage, 7)
    storage.fence(storage.ledger(7))  # type: ignore[arg-type]
    flush(storage)
    delete(storage, 7)
    ledger, made = storage.open_for(7, KEY)
    assert made
    assert ledger.fenced
    add(storage, run_of(0, 60))
    flush(storage)
    assert reopened(disk, storage).ledger(7).fenced  # type: ignore[union-attr]


# Logs ----------------------------------------------------------------------------------------------------------------


def small(disk: CrashingDisk, **others: Any) -> LedgerStorage:
    """Return a storage each of whose entries of 1000 bytes has a log of its own."""
    return new_storage(disk, DIRECTORY, entry_log_bytes_max=2100, **others)


def test_logs_that_are_written_are_not_finished(disk: CrashingDisk) -> None:
    storage = small(disk)
    stored(storage, 7, 1000, 1000)
    stored(storage, 8, 1000)
    assert logs(storage) == ["0.log"]
    storage = reopened(disk, storage)
    assert logs(storage) == ["0.log", "1.log"]


def test_a_current_log_without_ledgers_is_ended(disk: CrashingDisk, storage: LedgerStorage) -> None:
    stored(storage, 7)
    stored(storage, 8)
    delete(storage, 7)
    assert logs(storage) == []
    delete(storage, 8)
    assert logs(storage) == ["0.log"]
    result_of(storage.collection.delete_log(LogName(0)))
    stored(storage, 9)
    assert read(storage, 9, 1) == entry(1, 60, 9)
    assert disk.exists(f"{DIRECTORY}/1.log")


def test_a_log_that_is_written_cannot_be_deleted(disk: CrashingDisk, storage: LedgerStorage) -> None:
    stored(storage, 7)
    failure_of(storage.collection.delete_log(LogName(0)), StorageFailed)
    assert read(reopened(disk, storage), 7, 1) == entry(1, 60)


def test_a_log_that_is_read_while_it_is_deleted_does_not_stay_open(disk: CrashingDisk) -> None:
    storage = small(disk)
    stored(storage, 7, 1000, 1000)
    stored(storage, 8, 1000)
    page = storage.indexes.read_page(7, 0)
    delete(storage, 7)
    storage.collection._worker = worker = SteppedWorker()
    deleting = storage.collection.delete_log(LogName(0))
    assert storage._reader.read_run(7, 0, page, 100).count == 1
    worker.run_all()
    result_of(deleting)
    with pytest.raises(StorageFailed, match="cannot read"):
        storage._reader.read_run(7, 0, page, 100)


def test_a_full_disk_gets_room_although_its_flush_has_failed(disk: CrashingDisk) -> None:
    storage = small(disk)
    stored(storage, 7, 1000, 1000)
    stored(storage, 8, 1000)
    stored(storage, 9, 1000)
    storage.open_for(10, KEY)
    add(storage, run_of(0, 1000, ledger_id=10))
    disk.capacity = 100
    failure_of(storage.flush(lambda: MARK), OSError)
    assert delete(storage, 7, 8, 10) == [7, 8]
    assert logs(storage) == ["0.log", "1.log"]
    for name in (LogName(0), LogName(1)):
        result_of(storage.collection.delete_log(name))
    failure_of(storage.collection.move([]), FlushIncomplete)
    flush(storage)
    assert read(storage, 10, 0) == entry(0, 1000, 10)
    assert read(storage, 9, 0) == entry(0, 1000, 9)


def test_a_log_whose_locations_are_not_written_yet_is_not_finished(disk: CrashingDisk) -> None:
    storage = small(disk)
    for ledger_id in (7, 8):
        storage.open_for(ledger_id, KEY)
        add(storage, run_of(0, 1000, ledger_id=ledger_id))
    writer = storage.collection._mover._writer
    write = writer.write

    def fail(changes: Any) -> Any:
        if any(each.placed for each in changes):
            raise OSError(28, "full")
        return write(changes)

    writer.write = fail  # type: ignore[method-assign]
    failure_of(storage.flush(lambda: MARK), OSError)
    writer.write = write  # type: ignore[method-assign]
    assert "1.log" in disk.list_directory(DIRECTORY)
    assert logs(storage) == []
    failure_of(storage.collection.delete_log(LogName(0)), StorageFailed)
    flush(storage)
    assert logs(storage) == ["0.log"]
    for each in (storage, reopened(disk, storage)):
        assert [read(each, number, 0) for number in (7, 8)] == [entry(0, 1000, number) for number in (7, 8)]


def test_a_flush_after_all_ledgers_were_deleted_leaves_no_entries_without_an_index(
    disk: CrashingDisk, storage: LedgerStorage
) -> None:
    stored(storage, 7)
    assert result_of(storage.collection.delete_ledgers([7])) == [7]
    assert list(storage.indexes.ledger_ids()) == []
    storage.open_for(8, KEY)
    add(storage, run_of(0, 1000, ledger_id=8))

    def killed(entries: Any) -> Any:
        raise OSError(5, "killed")

    storage._logs.write = killed  # type: ignore[method-assign]
    failure_of(storage.flush(lambda: MARK), OSError)
    assert list(storage.indexes.ledger_ids()) == [8]


def test_fenced_ledgers_stay_while_that_cannot_be_written_down(disk: CrashingDisk, storage: LedgerStorage) -> None:
    stored(storage, 7)
    stored(storage, 8)
    storage.fence(storage.ledger(7))  # type: ignore[arg-type]
    flush(storage)
    disk.capacity = 0
    assert delete(storage, 7, 8) == [8]
    disk.capacity = None
    assert delete(storage, 7) == [7]
    with pytest.raises(LedgerFenced):
        storage.open_for(7, KEY, ordinary=True)


# Moves ---------------------------------------------------------------------------------------------------------------


def test_entries_are_read_from_their_new_log(disk: CrashingDisk) -> None:
    storage = small(disk)
    stored(storage, 7, 60, 1000, 70)
    stored(storage, 8, 1000, 1000)
    read(storage, 7, 0)
    moved = result_of(storage.collection.move(found(disk, LogName(0))))
    assert (moved.entry_count, moved.size_bytes) == (3, 64 + 1004 + 74)
    result_of(storage.collection.delete_log(LogName(0)))
    for each in (storage, reopened(disk, storage)):
        assert [read(each, 7, number) for number in range(3)] == [entry(0, 60), entry(1, 1000), entry(2, 70)]
    assert "0.log" not in disk.list_directory(DIRECTORY)


def test_what_the_index_does_not_have_there_is_not_moved(disk: CrashingDisk) -> None:
    storage = small(disk)
    stored(storage, 7, 1000, 1000)
    stored(storage, 8, 1000)
    first = found(disk, LogName(0))
    assert result_of(storage.collection.move(first)).entry_count == 2
    assert result_of(storage.collection.move(first)).entry_count == 0
    delete(storage, 8)
    assert result_of(storage.collection.move(found(disk, LogName(1)))).entry_count == 0


def test_parts_of_runs_are_moved(disk: CrashingDisk) -> None:
    storage = small(disk)
    stored(storage, 7, *[60] * 30)
    stored(storage, 8, 1000)
    (whole,) = found(disk, LogName(0))
    middle = PlacedRun(whole.run.part(10, 14), whole.base)
    assert result_of(storage.collection.move([middle])).entry_count == 5
    assert result_of(storage.collection.move([whole])).entry_count == 25
    result_of(storage.collection.delete_log(LogName(0)))
    storage = reopened(disk, storage)
    assert [read(storage, 7, number) for number in range(30)] == [entry(number, 60) for number in range(30)]


def test_scoped_entries_move_to_a_log_of_theirs(disk: CrashingDisk) -> None:
    storage = small(disk)
    stored(storage, SCOPED, 900, 900)
    stored(storage, SCOPED + 1, 1000)
    assert logs(storage) == ["0.log128"]
    result_of(storage.collection.move(found(disk, LogName(0, scoped=True))))
    result_of(storage.collection.delete_log(LogName(0, scoped=True)))
    assert read(reopened(disk, storage), SCOPED, 1) == entry(1, 900, SCOPED)


@pytest.mark.parametrize("writes", [1, 2])
def test_a_move_that_fails_leaves_everything_readable(disk: CrashingDisk, writes: int) -> None:
    storage = small(disk)
    stored(storage, 7, 1000, 60)
    stored(storage, 8, 1000, 60)
    runs = found(disk, LogName(0))
    read(storage, 7, 0)
    if writes == 1:
        disk.fail_writes(1)
    else:
        disk.fail_syncs(1)
    failure_of(storage.collection.move(runs), OSError)
    assert read(storage, 7, 1) == entry(1, 60)
    assert result_of(storage.collection.move(runs)).entry_count == 2
    result_of(storage.collection.delete_log(LogName(0)))
    assert [read(storage, 7, number) for number in (0, 1)] == [entry(0, 1000), entry(1, 60)]


def check_power_cut_behind_a_second_move(disk: CrashingDisk, storage: LedgerStorage, runs: Any) -> None:
    """What a first move has changed, and not made durable, is on the disk when the log is gone."""
    assert result_of(storage.collection.move(runs)).entry_count == 0
    result_of(storage.collection.delete_log(LogName(0)))
    disk.crash()
    disk.restart()
    storage = new_storage(disk, DIRECTORY)
    assert [read(storage, 7, number) for number in (0, 1)] == [entry(0, 1000), entry(1, 60)]


def test_a_move_that_fails_in_the_index_leaves_no_location_in_memory_that_is_not_in_the_file(
    disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = small(disk)
    stored(storage, 7, 1000, 60)
    stored(storage, 8, 1000, 60)
    runs = found(disk, LogName(0))
    writer = storage.collection._mover._writer
    write = writer.write

    def write_and_fail(changes: Any) -> Any:
        write(changes)
        raise OSError(5, "broken")

    with monkeypatch.context() as patched:
        patched.setattr(writer, "write", write_and_fail)
        failure_of(storage.collection.move(runs), OSError)
    check_power_cut_behind_a_second_move(disk, storage, runs)


@pytest.mark.parametrize("same_process", [True, False])
@pytest.mark.parametrize("bytes_stay", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_a_log_goes_only_when_the_places_of_its_entries_elsewhere_are_on_the_disk(
    seed: int, bytes_stay: bool, same_process: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux takes the bytes of a sync that has failed for written, and keeps those of a killed process in memory."""
    disk = new_disk(seed)
    storage = small(disk)
    stored(storage, 7, 1000, 60)
    stored(storage, 8, 1000, 60)
    runs = found(disk, LogName(0))
    sync = CrashingFile.sync

    def fail(file: CrashingFile) -> None:
        if not file.path.endswith(".idx"):
            return sync(file)
        if not bytes_stay:
            file._node.changes.clear()
        raise OSError(5, "broken")

    with monkeypatch.context() as patched:
        patched.setattr(CrashingFile, "sync", fail)
        failure_of(storage.collection.move(runs), OSError)
        if not same_process:
            storage = small(disk)
        failure_of(storage.collection.move(runs), OSError)
    check_power_cut_behind_a_second_move(disk, storage, runs)


def test_a_record_before_entry_0_keeps_none_behind_it_from_its_move(disk: CrashingDisk) -> None:
    storage = small(disk)
    stored(storage, 7, 1000, 60)
    stored(storage, 8, 1000, 60)
    (run,) = found(disk, LogName(0))
    before = EntryRun(7, -1, run.run.buffer, [0, *run.run.offsets])
    alone = EntryRun(7, -1, run.run.buffer, run.run.offsets[:2])
    moved = result_of(storage.collection.move([PlacedRun(alone, run.base), PlacedRun(before, run.base)]))
    assert moved.entry_count == 2


def test_a_read_that_was_on_its_way_finds_the_entry_where_it_is_now(disk: CrashingDisk) -> None:
    reading = SteppedWorker()
    storage = small(disk, read_worker=reading, read_cache_bytes_max=1)
    stored(storage, 7, 1000, 60)
    stored(storage, 8, 1000, 60)
    disk.caches = False
    loading = storage.load_run(7, 1)
    assert reading.jobs
    result_of(storage.collection.move(found(disk, LogName(0))))
    result_of(storage.collection.delete_log(LogName(0)))
    reading.run_all()
    assert result_of(loading).entry(1) == entry(1, 60)


def test_a_read_of_a_ledger_that_is_deleted_meanwhile_says_so(disk: CrashingDisk) -> None:
    reading = SteppedWorker()
    storage = small(disk, read_worker=reading, read_cache_bytes_max=1)
    stored(storage, 7, 1000, 60)
    stored(storage, 8, 1000, 60)
    first, second = storage.load_run(7, 1), storage.load_run(7, 0)
    delete(storage, 7)
    result_of(storage.collection.delete_log(LogName(0)))
    reading.run_all()
    for loading in (first, second):
        failure_of(loading, NoSuchLedger)


def test_the_last_add_confirmed_is_read_from_where_the_entry_is_now(disk: CrashingDisk) -> None:
    storage = small(disk)
    stored(storage, 7, 1000, 60)
    stored(storage, 8, 1000, 60)
    result_of(storage.stop())
    reading = SteppedWorker()
    storage = small(disk, read_worker=reading)
    last_entry = storage.indexes.last_entry

    def moved_after(ledger_id: int) -> Any:
        found_there = last_entry(ledger_id)
        storage.indexes.last_entry = last_entry  # type: ignore[method-assign]
        result_of(storage.collection.move(found(disk, LogName(0))))
        result_of(storage.collection.delete_log(LogName(0)))
        return found_there

    storage.indexes.last_entry = moved_after  # type: ignore[method-assign]
    loading = storage.loader.load(7)
    reading.run_all()
    assert result_of(loading).last_add_confirmed == 0


def test_a_flush_after_a_move_writes_the_entries_that_came_meanwhile(disk: CrashingDisk) -> None:
    worker = SteppedWorker()
    storage = small(disk, flush_worker=worker)
    storage.collection.journal_deleted = lambda _: succeed(True)
    for ledger_id in (7, 8):
        storage.open_for(ledger_id, KEY)
        add(storage, run_of(0, 1000, ledger_id=ledger_id))
        flushing = storage.flush(lambda: MARK)
        worker.run_all()
        result_of(flushing)
    moving = storage.collection.move(found(disk, LogName(0)))
    add(storage, run_of(1, 60))
    flushing = storage.flush(lambda: MARK)
    worker.run_all()
    assert result_of(moving).entry_count == 1
    result_of(flushing)
    assert [read(storage, 7, number) for number in (0, 1)] == [entry(0, 1000), entry(1, 60)]

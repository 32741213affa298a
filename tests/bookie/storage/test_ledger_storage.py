import errno
from pathlib import Path
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.bookie.storage.ledger_storage import FlushGivenUp, LedgerStorage
from bookkeeper_tx.bookie.storage.limits import INDEXED_ENTRY_ID_MAX
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BadRequest, NoSuchEntry, NoSuchLedger, StorageFailed, Unauthorized
from protocol_specs.fields import NO_ENTRY
from protocol_specs.ledger_id import join
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import KEY, OTHER_KEY, SCOPED, entry, run_of
from tests.bookie.storage.storages import MARK, add, flush, index_files_only, new_storage, read
from tests.bookie.workers import SteppedWorker
from tests.conftest import failure_of, result_of

pytestmark = pytest.mark.usefixtures("ledger_storage_class")


@pytest.fixture
def storage(disk: CrashingDisk) -> LedgerStorage:
    return new_storage(disk, DIRECTORY)


def restarted(disk: CrashingDisk, storage: LedgerStorage) -> LedgerStorage:
    flush(storage)
    result_of(storage.stop())
    return new_storage(disk, DIRECTORY)


def lac_body(last_add_confirmed: int, digest_size: int = 4) -> bytes:
    return (7).to_bytes(8, "big") + last_add_confirmed.to_bytes(8, "big") + b"d" * digest_size


@index_files_only
def test_the_files_are_those_of_java(tmp_path: Path) -> None:
    storage = new_storage(Disk(), str(tmp_path))
    storage.open_for(0x12345, KEY)
    add(storage, run_of(0, 41, 50, ledger_id=0x12345))
    flush(storage)
    result_of(storage.stop())
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {"0.log", "lastId", "23/45/12345.idx"}
    log, index = (tmp_path / "0.log").read_bytes(), (tmp_path / "23/45/12345.idx").read_bytes()
    entries = [entry(0, 41, 0x12345), entry(1, 50, 0x12345)]
    assert log[1024:] == b"".join(len(each).to_bytes(4, "big") + each for each in entries)
    assert index[:40] == b"BKLE\0\0\0\1\0\0\0\x14" + KEY + bytes(8)
    assert index[1024:1048] == bytes.fromhex("000000000000040400000000000004310000000000000000")
    assert len(index) == 1024 + 8192


def test_a_ledger_is_unknown_until_opened(storage: LedgerStorage) -> None:
    assert storage.ledger(7) is None
    ledger, created = storage.open_for(7, KEY)
    assert created
    assert storage.open_for(7, KEY) == (ledger, False)
    assert storage.ledger(7) is ledger
    assert (ledger.last_entry_id, ledger.last_add_confirmed, ledger.explicit_lac) == (NO_ENTRY, NO_ENTRY, None)


@pytest.mark.parametrize("key", [OTHER_KEY, b"", bytes(20)])
def test_the_key_is_checked_also_after_a_restart(disk: CrashingDisk, storage: LedgerStorage, key: bytes) -> None:
    storage.open_for(7, KEY)
    for each in (storage, restarted(disk, storage)):
        with pytest.raises(Unauthorized):
            each.open_for(7, key)
        assert not each.open_for(7, KEY)[1]


@pytest.mark.parametrize("own", [bytes(20), b""])
def test_a_key_of_zeros_or_of_nothing_is_a_key(disk: CrashingDisk, storage: LedgerStorage, own: bytes) -> None:
    storage.open_for(7, own)
    with pytest.raises(Unauthorized):
        storage.open_for(7, KEY)
    with pytest.raises(Unauthorized):
        restarted(disk, storage).open_for(7, KEY)


def test_what_no_index_can_hold_is_refused(storage: LedgerStorage) -> None:
    with pytest.raises(BadRequest):
        storage.open_for(-1, KEY)
    with pytest.raises(BadRequest):
        storage.open_for(7, b"k" * 21)
    assert storage.ledger(-1) is None
    storage.open_for(7, KEY)
    for first in (-4096, -1, INDEXED_ENTRY_ID_MAX + 1):
        with pytest.raises(BadRequest):
            add(storage, EntryRun(7, first, run_of(0, 30).buffer, [0, 34]))


def test_a_fence_alone_is_flushed(disk: CrashingDisk, storage: LedgerStorage) -> None:
    ledger, _ = storage.open_for(7, KEY)
    flush(storage)
    assert not storage.dirty
    assert storage.fence(ledger)
    assert not storage.fence(ledger)
    assert storage.dirty
    again = restarted(disk, storage).ledger(7)
    assert again is not None
    assert again.fenced


def test_an_explicit_lac_is_kept_whole_whatever_its_length(disk: CrashingDisk, storage: LedgerStorage) -> None:
    ledger, _ = storage.open_for(7, KEY)
    for body in (lac_body(3, 4), lac_body(4, 20), lac_body(5, 8), lac_body(6, 0)):
        storage.set_explicit_lac(ledger, body)
        storage = restarted(disk, storage)
        found = storage.ledger(7)
        assert found is not None
        assert found.explicit_lac == body
        ledger = found


def test_a_lower_explicit_lac_changes_nothing(storage: LedgerStorage) -> None:
    ledger, _ = storage.open_for(7, KEY)
    storage.set_explicit_lac(ledger, lac_body(5))
    storage.set_explicit_lac(ledger, lac_body(4))
    assert ledger.explicit_lac == lac_body(5)
    storage.set_explicit_lac(ledger, lac_body(5, 20))
    assert ledger.explicit_lac == lac_body(5, 20)


@pytest.mark.parametrize("size", [0, 15, 985])
def test_an_explicit_lac_that_does_not_fit_is_refused(storage: LedgerStorage, size: int) -> None:
    ledger, _ = storage.open_for(7, KEY)
    with pytest.raises(BadRequest):
        storage.set_explicit_lac(ledger, bytes(size))
    storage.set_explicit_lac(ledger, bytes(984))


@pytest.mark.parametrize(("explicit", "expected"), [(None, 8), (3, 8), (9, 9)])
def test_the_last_add_confirmed_is_there_right_after_a_restart(
    disk: CrashingDisk, storage: LedgerStorage, explicit: int | None, expected: int
) -> None:
    ledger, _ = storage.open_for(7, KEY)
    add(storage, run_of(0, *[30] * 10))
    if explicit is not None:
        storage.set_explicit_lac(ledger, lac_body(explicit))
    assert (ledger.last_entry_id, ledger.last_add_confirmed) == (9, expected)
    again = restarted(disk, storage).ledger(7)
    assert again is not None
    assert (again.last_entry_id, again.last_add_confirmed) == (9, expected)


def test_a_damaged_last_entry_does_not_hide_the_others(disk: CrashingDisk, storage: LedgerStorage) -> None:
    storage.open_for(7, KEY)
    add(storage, run_of(0, 30, 30))
    flush(storage)
    disk.open(f"{DIRECTORY}/0.log", writable=True).write(b"x" * 20, 1024 + 34)
    again = restarted(disk, storage)
    ledger = again.ledger(7)
    assert ledger is not None
    assert (ledger.last_entry_id, ledger.last_add_confirmed) == (1, NO_ENTRY)
    assert read(again, 7, 0) == entry(0, 30)
    with pytest.raises(StorageFailed):
        read(again, 7, 1)


@index_files_only
def test_a_damaged_index_is_no_unknown_ledger(disk: CrashingDisk, storage: LedgerStorage) -> None:
    storage.open_for(7, KEY)
    flush(storage)
    disk.open(f"{DIRECTORY}/0/7/7.idx", writable=True).write(bytes(1024), 0)
    again = restarted(disk, storage)
    for ask in (again.ledger, lambda ledger_id: again.open_for(ledger_id, KEY)):
        with pytest.raises(StorageFailed):
            ask(7)
    failure_of(again.load_run(7, 0), StorageFailed)


def test_nothing_is_loaded_of_an_unknown_ledger(storage: LedgerStorage) -> None:
    failure_of(storage.load_run(7, 0), NoSuchLedger)


@pytest.mark.parametrize("flushed", [False, True])
def test_of_an_entry_added_twice_the_first_copy_stays(storage: LedgerStorage, flushed: bool) -> None:
    storage.open_for(7, KEY)
    add(storage, run_of(2, 30, 31))
    if flushed:
        flush(storage)
    add(storage, run_of(0, *[50] * 6))
    for _ in range(2):
        assert [len(read(storage, 7, entry_id)) for entry_id in range(6)] == [50, 50, 30, 31, 50, 50]
        flush(storage)


def test_only_adds_that_continue_a_ledger_in_memory_need_no_second_look(storage: LedgerStorage) -> None:
    for ledger_id in (7, 8, 9):
        storage.open_for(ledger_id, KEY)
    add(storage, run_of(0, 41))
    fenced = storage.ledger(8)
    assert fenced is not None
    storage.fence(fenced)

    def one(ledger_id: int, entry_id: int, key: bytes = KEY) -> tuple[int, int, int, bytes, bytes]:
        body = entry(entry_id, 41, ledger_id)
        return ledger_id, entry_id, entry_id - 1, key, len(body).to_bytes(4, "big") + body

    adds = [one(7, 1), one(7, 1), one(7, 0), one(7, 5), one(7, 6, OTHER_KEY), one(8, 0), one(9, 0), one(6, 0)]
    adds.append(one(7, INDEXED_ENTRY_ID_MAX + 1))
    assert storage.add_at_ends(adds, {9}, recovery=False) == [1, 2, 4, 5, 6, 7, 8]
    assert storage.add_at_ends(adds[5:6], (), recovery=True) == []
    assert [read(storage, *each) for each in ((7, 1), (7, 5), (8, 0))] == [entry(1, 41), entry(5, 41), entry(0, 41, 8)]
    ledger = storage.ledger(7)
    assert ledger is not None
    assert (ledger.last_entry_id, ledger.last_add_confirmed) == (5, 4)
    assert storage.unflushed_ranges(9) == []


def test_a_flush_asks_for_the_mark_before_it_takes_what_is_there(disk: CrashingDisk) -> None:
    worker = SteppedWorker()
    storage = new_storage(disk, DIRECTORY, flush_worker=worker)
    ledger, _ = storage.open_for(7, KEY)

    def mark_of() -> LogMark:
        storage.fence(ledger)
        return MARK

    flushing = storage.flush(mark_of)
    add(storage, run_of(0, 30))
    worker.run_all()
    assert result_of(flushing) == MARK
    assert storage.dirty
    again = new_storage(disk, DIRECTORY).ledger(7)
    assert again is not None
    assert again.fenced
    assert again.last_entry_id == NO_ENTRY


def test_entries_are_readable_at_every_moment_of_a_flush(disk: CrashingDisk) -> None:
    worker = SteppedWorker()
    storage = new_storage(disk, DIRECTORY, flush_worker=worker)
    storage.open_for(7, KEY)
    add(storage, run_of(0, 30))
    first = storage.flush(lambda: MARK)
    add(storage, run_of(1, 31))
    second = storage.flush(lambda: LogMark(2, 0))
    while worker.jobs:
        for step in (lambda: None, worker.execute, worker.deliver):
            step()
            assert [read(storage, 7, entry_id) for entry_id in (0, 1)] == [entry(0, 30), entry(1, 31)]
    assert (result_of(first), result_of(second)) == (MARK, LogMark(2, 0))
    assert not storage.dirty


def test_a_failed_flush_keeps_all_and_its_mark(disk: CrashingDisk, storage: LedgerStorage) -> None:
    storage.open_for(7, KEY)
    add(storage, run_of(0, 30))
    disk.fail_syncs(1)
    failure_of(storage.flush(lambda: MARK), OSError)
    add(storage, run_of(1, 31))
    assert [read(storage, 7, entry_id) for entry_id in (0, 1)] == [entry(0, 30), entry(1, 31)]
    assert result_of(storage.flush(lambda: LogMark(9, 9))) == MARK
    assert storage.dirty
    assert result_of(storage.flush(lambda: LogMark(9, 9))) == LogMark(9, 9)
    assert not storage.dirty


@index_files_only
def test_an_index_that_cannot_be_written_does_not_grow_the_log(disk: CrashingDisk, storage: LedgerStorage) -> None:
    storage.open_for(7, KEY)
    add(storage, run_of(0, 5000))
    disk.capacity = 7055  # the log and the header, and not the location
    for _ in range(3):
        failure_of(storage.flush(lambda: MARK), OSError)
    assert len(disk.read(f"{DIRECTORY}/0.log")) == 1024 + 5004
    disk.capacity = None
    flush(storage)
    assert len(disk.read(f"{DIRECTORY}/0.log")) == 1024 + 5004


def test_it_says_when_it_cannot_write_and_when_it_can_again(disk: CrashingDisk, storage: LedgerStorage) -> None:
    said: list[bool] = []
    storage.on_flush_failed_changed = lambda: said.append(storage.flush_failed)
    storage.open_for(7, KEY)
    add(storage, run_of(0, 5000))
    disk.capacity = 3000
    for _ in range(2):
        failure_of(storage.flush(lambda: MARK), OSError)
    disk.capacity = None
    flush(storage)
    assert said == [True, False]
    add(storage, run_of(1, 5000))
    disk.fail_writes(1, errno.EIO)
    failure_of(storage.flush(lambda: MARK), OSError)
    assert said == [True, False, True]


def test_too_many_open_files_are_no_reason_to_write_no_more(disk: CrashingDisk, storage: LedgerStorage) -> None:
    said: list[bool] = []
    storage.on_flush_failed_changed = lambda: said.append(storage.flush_failed)
    storage.open_for(7, KEY)
    add(storage, run_of(0, 5000))
    disk.fail_writes(1, errno.EMFILE)
    failure_of(storage.flush(lambda: MARK), OSError)
    flush(storage)
    assert said == []
    assert read(restarted(disk, storage), 7, 0) == entry(0, 5000)


def test_the_write_cache_asks_for_a_flush_and_says_when_it_is_full(disk: CrashingDisk) -> None:
    worker = SteppedWorker()
    storage = new_storage(disk, DIRECTORY, flush_worker=worker, write_cache_bytes_max=20_000)
    said: list[Any] = []
    storage.on_flush_wanted = lambda: said.append("wanted")
    storage.on_drained = lambda: said.append("drained")
    storage.open_for(7, KEY)
    add(storage, run_of(0, 5000))
    assert said == []
    add(storage, run_of(1, 5000))
    add(storage, run_of(2, 5000))
    assert said == ["wanted"]
    storage.flush(lambda: MARK)
    add(storage, run_of(3, 15_000))
    assert said == ["wanted", "wanted"]
    add(storage, run_of(4, 5000))
    assert not storage.full, "two write caches of that size"
    size, size_max = storage.write_cache_bytes
    assert (35_000 < size < size_max, size_max) == (True, 40_000)
    add(storage, run_of(5, 5000))
    assert storage.full
    second = storage.flush(lambda: MARK)
    worker.step()
    assert storage.full, "the entries are in the log, and no index points to them"
    worker.step()
    assert not storage.full
    assert said == ["wanted", "wanted", "drained"]
    worker.run_all()
    result_of(second)


def test_memory_is_free_again_slice_by_slice_and_the_mark_comes_last(disk: CrashingDisk) -> None:
    worker = SteppedWorker()
    storage = new_storage(disk, DIRECTORY, flush_worker=worker, slice_count=2, write_cache_bytes_max=15_000)
    drained: list[int] = []
    ledgers = [8, 7, SCOPED, 3, 9]
    for ledger_id in ledgers:
        storage.open_for(ledger_id, KEY)
        add(storage, run_of(0, 6000, ledger_id=ledger_id))
    assert storage.full
    marks: list[LogMark] = []
    storage.flush(lambda: MARK).addCallback(marks.append)
    storage.on_drained = lambda: drained.append(sum(bool(storage.unflushed_ranges(each)) for each in ledgers))
    left = []
    while worker.jobs:
        assert marks == []
        worker.step()
        left.append(sorted(each for each in ledgers if storage.unflushed_ranges(each)))
        assert [read(storage, each, 0) for each in ledgers] == [entry(0, 6000, each) for each in ledgers]
    assert left == [sorted(ledgers), [8, 9, SCOPED], [SCOPED], []]
    assert drained == [3]
    assert marks == [MARK]


@index_files_only
def test_what_is_durable_of_a_failed_flush_is_not_written_again(disk: CrashingDisk) -> None:
    worker = SteppedWorker()
    storage = new_storage(disk, DIRECTORY, flush_worker=worker, slice_count=1)
    ledgers = [1, 2, 3]
    for ledger_id in ledgers:
        storage.open_for(ledger_id, KEY)
        add(storage, run_of(0, 50, ledger_id=ledger_id))
    first = storage.flush(lambda: MARK)
    worker.step()
    worker.step()
    disk.fail_syncs(1)
    worker.run_all()
    failure_of(first, OSError)
    assert storage.flush_failed
    assert [bool(storage.unflushed_ranges(each)) for each in ledgers] == [False, True, True]
    ledger = storage.ledger(1)
    assert ledger is not None
    storage.fence(ledger)
    disk.remove(f"{DIRECTORY}/0/1/1.idx")
    second = storage.flush(lambda: LogMark(9, 9))
    worker.run_all()
    assert result_of(second) == MARK
    assert not disk.exists(f"{DIRECTORY}/0/1/1.idx")
    assert storage.dirty, "the fence came later"
    assert not storage.flush_failed
    assert [storage.indexed_ranges(each, 0, 1) for each in ledgers[1:]] == [[range(1)], [range(1)]]


def test_stop_waits_for_the_flush(disk: CrashingDisk) -> None:
    worker = SteppedWorker()
    storage = new_storage(disk, DIRECTORY, flush_worker=worker)
    storage.open_for(7, KEY)
    storage.flush(lambda: MARK)
    stopping = storage.stop()
    assert not stopping.called
    worker.run_all()
    result_of(stopping)


def test_absent_entries_of_a_known_ledger_are_no_entry(storage: LedgerStorage) -> None:
    storage.open_for(7, KEY)
    add(storage, run_of(5, 30))
    flush(storage)
    for entry_id in (0, 4, 6):
        with pytest.raises(NoSuchEntry):
            read(storage, 7, entry_id)


# Ledgers outside scope 0 ---------------------------------------------------------------------------------------------


def test_scoped_entries_are_stored_and_read_again(
    disk: CrashingDisk, ledger_storage_class: str, storage: LedgerStorage
) -> None:
    """Also beside a ledger of scope 0 with the same lower half."""
    scoped, plain = join(1, 7), 7
    for ledger_id in (scoped, plain):
        storage.open_for(ledger_id, KEY)
        add(storage, run_of(0, *[40] * 200, ledger_id=ledger_id))
    flush(storage)
    add(storage, run_of(200, 50, ledger_id=scoped))
    for served in (storage, new_storage(disk, DIRECTORY)):
        for ledger_id in (scoped, plain):
            for entry_id in (0, 5, 199):
                assert read(served, ledger_id, entry_id) == entry(entry_id, 40, ledger_id)
    assert disk.exists(f"{DIRECTORY}/1.log128")
    index = (
        "scopedLocations" if ledger_storage_class == "DbLedgerStorage" else "00000000/00000001/00000000/00000007.idx"
    )
    assert disk.exists(f"{DIRECTORY}/{index}")


@pytest.mark.parametrize(
    "bad",
    [entry(0, 33, SCOPED)[:32], entry(0, 50, 7), entry(0, 50, SCOPED + 1), b"\xb3" + entry(0, 50, SCOPED)[1:]],
    ids=["too short", "format V1", "other ledger", "unknown version"],
)
def test_entries_that_are_not_of_the_scoped_ledger_are_refused(storage: LedgerStorage, bad: bytes) -> None:
    storage.open_for(SCOPED, KEY)
    with pytest.raises(BadRequest, match="format V2"):
        add(storage, EntryRun.of_entries(SCOPED, 0, [bad]))
    add(storage, run_of(0, 33, ledger_id=SCOPED))


@pytest.mark.parametrize(
    ("ledger_id", "body"),
    [(SCOPED, b"\xa4" + bytes(24)), (SCOPED, bytes(25)), (7, b"\xa4" + bytes(24)), (SCOPED, b"\xa4" + bytes(23))],
    ids=["other ledger", "format V1", "format V2", "too short"],
)
def test_an_explicit_lac_of_another_ledger_is_refused(storage: LedgerStorage, ledger_id: int, body: bytes) -> None:
    ledger, _ = storage.open_for(ledger_id, KEY)
    with pytest.raises(BadRequest):
        storage.set_explicit_lac(ledger, body)


def test_every_entry_is_in_memory_or_in_the_index_also_while_it_is_flushed(disk: CrashingDisk) -> None:
    worker = SteppedWorker()
    storage = new_storage(disk, DIRECTORY, flush_worker=worker)
    storage.open_for(7, KEY)
    add(storage, run_of(0, 41, 41))
    storage.flush(lambda: MARK)
    add(storage, run_of(5, 41))
    storage.open_for(8, KEY)
    add(storage, run_of(6, 41, ledger_id=8))
    assert storage.unflushed_ranges(7) == [range(2), range(5, 6)]
    assert storage.indexed_ranges(7, 0, 1) == []
    worker.run_all()
    assert storage.unflushed_ranges(7) == [range(5, 6)]
    assert storage.indexed_ranges(7, 0, 1) == [range(2)]
    assert storage.unflushed_ranges(9) == []


@index_files_only
def test_entries_whose_index_has_vanished_are_not_absent(disk: CrashingDisk, storage: LedgerStorage) -> None:
    """Recovery would take "no such entry" for the end of the ledger."""
    storage.open_for(7, KEY)
    add(storage, run_of(0, 30))
    flush(storage)
    again = new_storage(disk, DIRECTORY)
    disk.remove(f"{DIRECTORY}/0/7/7.idx")
    for served in (storage, again):
        with pytest.raises(StorageFailed):
            served.indexed_ranges(7, 0, 1)
    with pytest.raises(StorageFailed):
        read(again, 7, 0)
    assert read(storage, 7, 0) == entry(0, 30)  # it knows where the entry is
    with pytest.raises(NoSuchEntry):
        read(storage, 7, 1)


def test_nothing_is_read_from_the_disk_to_find_out_that_later_entries_are_new(
    disk: CrashingDisk, storage: LedgerStorage
) -> None:
    storage.open_for(7, KEY)
    add(storage, run_of(0, 30))
    flush(storage)
    add(storage, run_of(20, 30))
    disk.crash()
    add(storage, run_of(5, 31))
    assert storage.unflushed_ranges(7) == [range(5, 6), range(20, 21)]


def test_a_flush_that_is_given_up_is_no_failure_and_keeps_what_is_left(disk: CrashingDisk) -> None:
    worker = SteppedWorker()
    storage = new_storage(disk, DIRECTORY, flush_worker=worker, slice_count=1)
    for ledger_id in (1, 2, 3):
        storage.open_for(ledger_id, KEY)
        add(storage, run_of(0, 50, ledger_id=ledger_id))
    flushing = storage.flush(lambda: MARK)
    worker.step()
    worker.execute()
    storage.give_up_flush()
    worker.run_all()
    failure_of(flushing, FlushGivenUp)
    assert not storage.flush_failed
    assert [bool(storage.unflushed_ranges(each)) for each in (1, 2, 3)] == [False, True, True]
    assert storage.dirty
    failure_of(new_flush(storage, worker), FlushGivenUp)
    assert [read(storage, each, 0) for each in (1, 2, 3)] == [entry(0, 50, each) for each in (1, 2, 3)]


def new_flush(storage: LedgerStorage, worker: SteppedWorker) -> Deferred[LogMark]:
    flushing = storage.flush(lambda: MARK)
    worker.run_all()
    return flushing

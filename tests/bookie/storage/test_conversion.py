from array import array
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.bookie.directories import CONVERSION_NAME, Directories
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.operations.list_entries import united
from bookkeeper_tx.bookie.storage import conversion
from bookkeeper_tx.bookie.storage.conversion import INDEX_FILES, OTHER, ROCKSDB, Conversion
from bookkeeper_tx.bookie.storage.ledger_index import LedgerIndexes
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import NoSuchEntry, RefusedToStart, StorageFailed
from protocol_specs.ledger_id import join
from tests.bookie.crashing_disk import DIRECTORY, Crashed, CrashingDisk, new_disk
from tests.bookie.seams import KEY, SCOPED, entry, run_of
from tests.bookie.storage.storages import add, explicit_lac, flush, new_storage, read
from tests.conftest import result_of
from tests.sampling import only, stride

CONFIG = BookieConfig(metadata_uri="", journal_directory="", ledger_directory="")
LEDGERS = [0, 5, 0x12345, SCOPED, join(5, 0)]

both_ways = pytest.mark.parametrize("to", [ROCKSDB, INDEX_FILES])


def fill(disk: Disk, directory: str, name: str) -> None:
    """Store ledgers with gaps, with many pages, fenced, with an explicit LAC, and without entries."""
    storage = new_storage(disk, directory, ledger_storage_class=name)
    for ledger_id in [*LEDGERS, 99]:
        storage.open_for(ledger_id, KEY)
    for ledger_id in LEDGERS:
        add(storage, run_of(0, *[40] * 30, ledger_id=ledger_id))
        add(storage, run_of(1000, *[40] * 1100, ledger_id=ledger_id))
        add(storage, run_of(9000, 40, ledger_id=ledger_id))
    fenced = storage.ledger(5)
    assert fenced is not None
    storage.fence(fenced)
    storage.set_explicit_lac(fenced, explicit_lac(5, 7, 4))
    flush(storage)
    result_of(storage.stop())


def check(disk: Disk, directory: str, name: str) -> None:
    storage = new_storage(disk, directory, ledger_storage_class=name)
    for ledger_id in [*LEDGERS, 99]:
        ledger = storage.ledger(ledger_id)
        assert ledger is not None
        assert ledger.master_key == KEY
        assert (ledger.fenced, ledger.explicit_lac is not None) == (ledger_id == 5,) * 2
        assert ledger.last_entry_id == (-1 if ledger_id == 99 else 9000)
    for ledger_id in LEDGERS:
        stored = list(united(storage.indexed_ranges(ledger_id, 0, 9)))
        assert stored == [range(30), range(1000, 2100), range(9000, 9001)]
        for entry_id in (0, 29, 1000, 1024, 2099, 9000):
            assert read(storage, ledger_id, entry_id) == entry(entry_id, 40, ledger_id)
        with pytest.raises(NoSuchEntry):
            read(storage, ledger_id, 30)
    result_of(storage.stop())


def names(disk: Disk) -> set[str]:
    """Return what there is of indexes."""
    found = {name for name in conversion.DATABASES if disk.exists(f"{DIRECTORY}/{name}")}
    return found | {"index files" for _ in LedgerIndexes(disk, DIRECTORY, 1).ledger_ids()}


@both_ways
def test_ledgers_in_limbo_stay_there_and_so_does_the_note_that_a_check_is_needed(disk: CrashingDisk, to: str) -> None:
    checking = {"ledger_storage_class": OTHER[to], "data_integrity_checking": True}
    storage = new_storage(disk, DIRECTORY, **checking)
    storage.limbo.set_needs_check(True)
    for ledger_id in LEDGERS:
        storage.limbo.enter(storage.open_for(ledger_id, KEY)[0], fenced=ledger_id == 5)
    flush(storage)
    result_of(storage.stop())
    for name in (to, OTHER[to]):
        Conversion(disk, [DIRECTORY], name, CONFIG).run()
        storage = new_storage(disk, DIRECTORY, **checking | {"ledger_storage_class": name})
        found = [storage.ledger(each) for each in LEDGERS]
        assert [ledger is not None and ledger.limbo for ledger in found] == [True] * len(LEDGERS)
        assert [ledger is not None and ledger.fenced for ledger in found] == [each == 5 for each in LEDGERS]
        assert storage.limbo.needs_check()
        storage.limbo.set_needs_check(name == to)
        result_of(storage.stop())
    assert not disk.exists(f"{DIRECTORY}/NEEDS_INTEGRITY_CHECK")


@both_ways
def test_all_is_there_afterwards_and_the_other_way_back(disk: CrashingDisk, to: str) -> None:
    fill(disk, DIRECTORY, OTHER[to])
    for name in (to, OTHER[to]):
        work = Conversion(disk, [DIRECTORY], name, CONFIG)
        work.run()
        assert (work.ledgers, work.entries) == (6, 5 * 1131)
        assert names(disk) == ({"index files"} if name == INDEX_FILES else set(conversion.DATABASES))
        assert not disk.exists(f"{DIRECTORY}/{CONVERSION_NAME}")
        check(disk, DIRECTORY, name)


@both_ways
def test_all_is_there_on_real_files(tmp_path: Path, to: str) -> None:
    pytest.importorskip("rocksdict")
    fill(Disk(), str(tmp_path), OTHER[to])
    Conversion(Disk(), [str(tmp_path)], to, CONFIG).run()
    check(Disk(), str(tmp_path), to)
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix in (".idx", ".sst")]
    assert {path.suffix for path in left} == {".idx" if to == INDEX_FILES else ".sst"}


@pytest.mark.parametrize("to", only(ROCKSDB, [ROCKSDB, INDEX_FILES]))
def test_a_conversion_that_was_cut_off_anywhere_goes_on(monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    monkeypatch.setattr(conversion, "BATCH_PAGES", 3)
    step, ended = 0, False
    while not ended:
        disk = new_disk(step)
        fill(disk, DIRECTORY, OTHER[to])
        disk.crash_at = step
        try:
            Conversion(disk, [DIRECTORY], to, CONFIG).run()
            ended = True
        except Crashed:
            disk.restart()
            if disk.exists(f"{DIRECTORY}/{CONVERSION_NAME}"):
                with pytest.raises(RefusedToStart, match="is not finished; begin it again"):
                    Directories(disk, "/data", "/data", to).open()
                Conversion(disk, [DIRECTORY], to, CONFIG).run()
            elif names(disk) != ({"index files"} if to == INDEX_FILES else set(conversion.DATABASES)):
                check(disk, DIRECTORY, OTHER[to])
                Conversion(disk, [DIRECTORY], to, CONFIG).run()
        disk.crash_at = None
        disk.crash()
        disk.restart()
        check(disk, DIRECTORY, to)
        step += stride()
    assert step > 30


@both_ways
def test_what_was_copied_is_not_copied_again(disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    monkeypatch.setattr(conversion, "BATCH_PAGES", 3)
    fill(disk, DIRECTORY, OTHER[to])
    batches = 0

    def advance() -> None:
        nonlocal batches
        batches += 1
        if batches == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Conversion(disk, [DIRECTORY], to, CONFIG, advance).run()
    again = Conversion(disk, [DIRECTORY], to, CONFIG)
    again.run()
    assert 0 < again.entries < 5 * 1131
    check(disk, DIRECTORY, to)


@both_ways
def test_nothing_is_removed_that_is_not_the_same(disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    fill(disk, DIRECTORY, OTHER[to])
    placed = Conversion._placed

    def without_one(self: Any, source: Any, ledger_id: int, number: int) -> Any:
        found = placed(self, source, ledger_id, number)
        return found[:-1] if ledger_id == 0x12345 else found

    monkeypatch.setattr(Conversion, "_placed", without_one)
    with pytest.raises(StorageFailed, match=r"ledger 74565 is not the same .* nothing is removed"):
        Conversion(disk, [DIRECTORY], to, CONFIG).run()
    assert names(disk) == {"index files", *conversion.DATABASES}
    monkeypatch.undo()
    Conversion(disk, [DIRECTORY], to, CONFIG).run()
    check(disk, DIRECTORY, to)


@both_ways
def test_what_is_not_the_other_class_is_refused(disk: CrashingDisk, to: str) -> None:
    fill(disk, DIRECTORY, to)
    with pytest.raises(RefusedToStart, match=f"is one of {to} already"):
        Conversion(disk, [DIRECTORY], to, CONFIG).run()
    both = new_disk(0)
    for name in (ROCKSDB, INDEX_FILES):
        fill(both, DIRECTORY, name)
    with pytest.raises(RefusedToStart, match="remove those that the bookie did not use"):
        Conversion(both, [DIRECTORY], to, CONFIG).run()


def test_a_conversion_to_another_class_is_finished_first(disk: CrashingDisk) -> None:
    disk.replace(f"{DIRECTORY}/{CONVERSION_NAME}", f"{ROCKSDB} copying\n".encode())
    with pytest.raises(RefusedToStart, match=f"a conversion to {ROCKSDB} is under way: finish that first"):
        Conversion(disk, [DIRECTORY], INDEX_FILES, CONFIG).run()


def test_an_index_file_of_java_that_ends_within_a_page_is_the_same(disk: CrashingDisk) -> None:
    fill(disk, DIRECTORY, INDEX_FILES)
    path = LedgerIndexes(disk, DIRECTORY, 1).path(5)
    file = disk.open(path, writable=True)
    file.truncate(1024 + 9001 * array("Q").itemsize)
    file.sync()
    Conversion(disk, [DIRECTORY], ROCKSDB, CONFIG).run()
    check(disk, DIRECTORY, ROCKSDB)


@pytest.mark.parametrize("seed", range(6))
def test_what_a_killed_attempt_left_in_the_page_cache_is_made_durable(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(conversion, "BATCH_PAGES", 3)
    disk = new_disk(seed)
    fill(disk, DIRECTORY, ROCKSDB)
    disk.syncs_lie = True  # the process is killed before the syncs of its last batches return

    def kill() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Conversion(disk, [DIRECTORY], INDEX_FILES, CONFIG, kill).run()
    disk.syncs_lie = False
    disk.sync_directory(DIRECTORY)  # of the state, which was durable before
    Conversion(disk, [DIRECTORY], INDEX_FILES, CONFIG).run()
    disk.crash()
    disk.restart()
    check(disk, DIRECTORY, INDEX_FILES)


@pytest.mark.parametrize("seed", range(6))
def test_what_a_failed_sync_takes_for_written_is_written_again(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(conversion, "BATCH_PAGES", 3)
    disk = new_disk(seed)
    fill(disk, DIRECTORY, ROCKSDB)
    with pytest.raises(OSError, match="Input/output"):
        Conversion(disk, [DIRECTORY], INDEX_FILES, CONFIG, lambda: disk.fail_syncs(1)).run()
    Conversion(disk, [DIRECTORY], INDEX_FILES, CONFIG).run()
    disk.crash()
    disk.restart()
    check(disk, DIRECTORY, INDEX_FILES)

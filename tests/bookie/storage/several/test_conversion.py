"""bookkeeper_tx.bookie.storage.conversion of several directories: logs go home, or get other numbers."""

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.bookie.directories import CONVERSION_NAME, Directories
from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.key_values import KeyValues
from bookkeeper_tx.bookie.storage import conversion
from bookkeeper_tx.bookie.storage.conversion import INDEX_FILES, OTHER, ROCKSDB, Conversion
from bookkeeper_tx.bookie.storage.entry_location import split_location
from bookkeeper_tx.bookie.storage.entry_log import PlacedRun
from bookkeeper_tx.bookie.storage.entry_log_metadata import count, finished_names
from bookkeeper_tx.bookie.storage.entry_mover import EntryMover
from bookkeeper_tx.bookie.storage.entry_reader import EntryReader
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage, storages_of
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import LedgerFenced, NoSuchEntry, RefusedToStart, StorageFailed
from tests.bookie.crashing_disk import DIRECTORY, Crashed
from tests.bookie.seams import KEY, SCOPED, entry, run_of
from tests.bookie.storage.several.several_storages import SECOND, several_storages, two_disks
from tests.bookie.storage.storages import add, explicit_lac, flush, new_storage, read
from tests.conftest import result_of
from tests.sampling import stride

CONFIG = BookieConfig(metadata_uri="", journal_directory="", ledger_directory="", entry_log_bytes_max=4000)
LEDGERS = [0, 5, 0x12345, SCOPED, 6]
EMPTY, DELETED, DELETED_FENCED = 99, 8, 7
SMALL: Any = {"entry_log_bytes_max": 4000}

both_ways = pytest.mark.parametrize("to", [ROCKSDB, INDEX_FILES])


def opened(
    disk: Disk, name: str, directories: tuple[str, str] = (DIRECTORY, SECOND), indexes: Sequence[str] = ()
) -> AnyStorage:
    if name == ROCKSDB:
        return several_storages(disk, directories, indexes=indexes, entry_log_bytes_max=4000)
    return new_storage(disk, directories[0], more=directories[1:], indexes=indexes, **SMALL)


def fill(
    disk: Disk, name: str, directories: tuple[str, str] = (DIRECTORY, SECOND), indexes: Sequence[str] = ()
) -> None:
    """Store ledgers whose entries are in many logs, fenced, with an explicit LAC, and without entries; delete some."""
    storage = opened(disk, name, directories, indexes)
    for ledger_id in [*LEDGERS, EMPTY, DELETED, DELETED_FENCED]:
        storage.open_for(ledger_id, KEY)
    for first in range(0, 30, 10):
        for ledger_id in [*LEDGERS, DELETED]:
            add(storage, run_of(first, *[100] * 10, ledger_id=ledger_id))
        flush(storage)
    for ledger_id in (5, DELETED_FENCED):
        fenced = storage.ledger(ledger_id)
        assert fenced is not None
        storage.fence(fenced)
    ledger = storage.ledger(5)
    assert ledger is not None
    storage.set_explicit_lac(ledger, explicit_lac(5, 7, 4))
    flush(storage)
    for each in storages_of(storage):
        result_of(each.collection.delete_ledgers([DELETED, DELETED_FENCED]))
    result_of(storage.stop())


def check(
    disk: Disk, name: str, directories: tuple[str, str] = (DIRECTORY, SECOND), indexes: Sequence[str] = ()
) -> None:
    storage = opened(disk, name, directories, indexes)
    for ledger_id in [*LEDGERS, EMPTY]:
        ledger = storage.ledger(ledger_id)
        assert ledger is not None
        assert (ledger.fenced, ledger.explicit_lac is not None) == (ledger_id == 5,) * 2
        for entry_id in range(30) if ledger_id != EMPTY else ():
            assert read(storage, ledger_id, entry_id) == entry(entry_id, 100, ledger_id)
        with pytest.raises(NoSuchEntry):
            read(storage, ledger_id, 30)
    assert storage.ledger(DELETED) is storage.ledger(DELETED_FENCED) is None
    result_of(storage.stop())


def keeps_fences_of_deleted_ledgers(disk: Disk, name: str) -> bool:
    storage = opened(disk, name)
    try:
        storage.open_for(DELETED_FENCED, KEY, ordinary=True)
    except LedgerFenced:
        return True
    finally:
        result_of(storage.stop())
    return False


def convert(disk: Disk, to: str, advance: Callable[[], None] = lambda: None) -> Conversion:
    work = Conversion(disk, [DIRECTORY, SECOND], to, CONFIG, advance)
    work.run()
    return work


def logs(disk: Disk) -> list[list[str]]:
    return [
        sorted(name for name in disk.list_directory(directory) if ".log" in name) for directory in (DIRECTORY, SECOND)
    ]


@both_ways
def test_all_is_there_afterwards_and_the_other_way_back(to: str) -> None:
    disk = two_disks()
    fill(disk, OTHER[to])
    for name in (to, OTHER[to], to):
        assert convert(disk, name).ledgers == len(LEDGERS) + 1
        assert not disk.exists(f"{DIRECTORY}/{CONVERSION_NAME}")
        check(disk, name)
        assert keeps_fences_of_deleted_ledgers(disk, name)
        first, second = logs(disk)
        assert first
        assert second
        assert name == ROCKSDB or not {*first} & {*second}


@both_ways
def test_all_is_there_on_real_files(tmp_path: Path, to: str) -> None:
    pytest.importorskip("rocksdict")
    directories = (str(tmp_path / "a"), str(tmp_path / "b"))
    for each in directories:
        Path(each).mkdir()
    fill(Disk(), OTHER[to], directories)
    Conversion(Disk(), directories, to, CONFIG).run()
    check(Disk(), to, directories)
    left = {path.suffix for path in tmp_path.rglob("*") if path.is_file() and path.suffix in (".idx", ".sst")}
    assert left == {".idx" if to == INDEX_FILES else ".sst"}


@both_ways
def test_a_conversion_that_was_cut_off_anywhere_goes_on(monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    monkeypatch.setattr(conversion, "BATCH_PAGES", 3)
    step, ended = 0, False
    while not ended:
        disk = two_disks(step)
        fill(disk, OTHER[to])
        disk.crash_at = step
        try:
            convert(disk, to)
            ended = True
        except Crashed:
            disk.restart()
            if any(disk.exists(f"{directory}/{CONVERSION_NAME}") for directory in (DIRECTORY, SECOND)):
                with pytest.raises(RefusedToStart, match="is not finished; begin it again"):
                    Directories(disk, "/data", "/data", to, more_ledgers=["/second"]).open()
                convert(disk, to)
            elif any("ledgers" in disk.list_directory(each) for each in (DIRECTORY, SECOND)) != (to == ROCKSDB):
                check(disk, OTHER[to])
                convert(disk, to)
        disk.crash_at = None
        disk.crash()
        disk.restart()
        check(disk, to)
        assert keeps_fences_of_deleted_ledgers(disk, to)
        step += stride()
    assert step > 30


def test_each_directory_has_the_entries_of_its_own_ledgers_afterwards() -> None:
    for lost, ids in ((DIRECTORY, [5, 0x12345, SCOPED]), (SECOND, [0, 6])):
        disk = two_disks()
        fill(disk, INDEX_FILES)
        convert(disk, ROCKSDB)
        for name in disk.list_directory(lost):
            if ".log" in name:
                disk.remove(f"{lost}/{name}")
        storage = opened(disk, ROCKSDB)
        for ledger_id in ids:
            assert read(storage, ledger_id, 29) == entry(29, 100, ledger_id)


def damage_a_log(disk: Disk) -> str:
    """Damage the last entry of ledger 0 in index files; return the path of its log."""
    storage = opened(disk, INDEX_FILES)
    assert isinstance(storage, LedgerStorage)
    log_id, offset = split_location(storage.indexes.last_entry(0)[1])
    result_of(storage.stop())
    (path,) = (f"{each}/{log_id:x}.log" for each in (DIRECTORY, SECOND) if disk.exists(f"{each}/{log_id:x}.log"))
    file = disk.open(path, writable=True)
    file.write(bytes(8), offset)
    file.close()
    return path


def check_but_for_the_last(disk: Disk) -> None:
    storage = opened(disk, ROCKSDB)
    for ledger_id in LEDGERS:
        for entry_id in range(29):
            assert read(storage, ledger_id, entry_id) == entry(entry_id, 100, ledger_id)
    with pytest.raises(StorageFailed):
        read(storage, 0, 29)


def test_of_a_log_that_is_damaged_what_can_be_read_goes_home_and_the_rest_is_an_error() -> None:
    disk = two_disks()
    fill(disk, INDEX_FILES)
    path = damage_a_log(disk)
    convert(disk, ROCKSDB)
    assert disk.exists(path)
    check_but_for_the_last(disk)


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE])
def test_an_entry_that_the_disk_does_not_give_now_is_not_taken_for_damaged(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    disk = two_disks()
    fill(disk, INDEX_FILES)
    path = damage_a_log(disk)
    read_records = EntryReader._read_records
    failed: list[str] = []

    def fails_once(self: EntryReader, file: File, *rest: Any) -> EntryRun:
        if not failed and file.path == path:
            failed.append(path)
            raise OSError(number, os.strerror(number))
        return read_records(self, file, *rest)

    monkeypatch.setattr(EntryReader, "_read_records", fails_once)
    with pytest.raises(StorageFailed, match=os.strerror(number)):
        convert(disk, ROCKSDB)
    assert failed
    convert(disk, ROCKSDB)
    check_but_for_the_last(disk)


def test_what_can_be_read_of_a_damaged_log_is_written_many_entries_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = two_disks()
    fill(disk, INDEX_FILES)
    for directory in (DIRECTORY, SECOND):
        for name in finished_names(disk.list_directory(directory)):
            with closing(disk.open(f"{directory}/{name.file_name}", writable=True)) as file:
                file.write(bytes(4), 1024)
    counts: list[int] = []
    move = EntryMover.move

    def counted(mover: EntryMover, found: list[PlacedRun], *rest: Any) -> Any:
        counts.append(len(found))
        return move(mover, found, *rest)

    monkeypatch.setattr(EntryMover, "move", counted)
    convert(disk, ROCKSDB)
    assert sum(counts) > 30
    assert len(counts) < 15


@both_ways
def test_the_databases_of_all_directories_take_what_those_of_one_would(
    monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    disk = two_disks()
    fill(disk, OTHER[to])
    buffers: list[int] = []
    open_key_values = disk.open_key_values

    def watched(path: str, config: BookieConfig) -> KeyValues:
        if path.endswith("/locations"):
            buffers.append(config.rocksdb_write_buffer_bytes)
        return open_key_values(path, config)

    monkeypatch.setattr(disk, "open_key_values", watched)
    convert(disk, to)
    assert buffers == [CONFIG.rocksdb_write_buffer_bytes // 2] * 2


@both_ways
def test_what_a_compaction_has_left_is_seen_to_before(to: str) -> None:
    disk = two_disks()
    fill(disk, OTHER[to])
    for directory in (DIRECTORY, SECOND):
        disk.replace(f"{directory}/ff.log.compacting", b"half")
        for name in finished_names(disk.list_directory(directory)):
            path = f"{directory}/{name.file_name}"
            if not name.scoped:
                disk.rename(path, f"{path}.fe.compacted")
    convert(disk, to)
    assert not any("compact" in name for names in logs(disk) for name in names)
    check(disk, to)


def test_entries_of_ledgers_without_an_index_go_home_too() -> None:
    disk = two_disks()
    storage = opened(disk, INDEX_FILES)
    assert isinstance(storage, LedgerStorage)
    for ledger_id in (0, 1, 2, 3):
        storage.open_for(ledger_id, KEY)
        add(storage, run_of(0, 200, ledger_id=ledger_id))
    flush(storage)
    for ledger_id in (2, 3):
        disk.remove(storage.indexes.path(ledger_id))
    result_of(storage.stop())
    convert(disk, ROCKSDB)
    for directory, owners in ((DIRECTORY, {0, 2}), (SECOND, {1, 3})):
        names = finished_names(disk.list_directory(directory))
        assert {each for name in names for each in count(disk, directory, name).ledger_ids()} == owners


def test_another_conversion_or_other_directories_do_not_go_on_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversion, "BATCH_PAGES", 3)
    disk = two_disks()
    fill(disk, ROCKSDB)

    def kill() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert(disk, INDEX_FILES, kill)
    with pytest.raises(RefusedToStart, match="finish that first"):
        convert(disk, ROCKSDB)
    with pytest.raises(RefusedToStart, match="name these, in this order"):
        Conversion(disk, [SECOND, DIRECTORY], INDEX_FILES, CONFIG).run()
    with pytest.raises(RefusedToStart, match="name these, in this order"):
        Conversion(disk, [DIRECTORY], INDEX_FILES, CONFIG).run()
    convert(disk, INDEX_FILES)
    check(disk, INDEX_FILES)


def test_databases_in_another_order_are_refused() -> None:
    disk = two_disks()
    fill(disk, ROCKSDB)
    with pytest.raises(RefusedToStart, match="the number or the order of the directories"):
        Conversion(disk, [SECOND, DIRECTORY], INDEX_FILES, CONFIG).run()

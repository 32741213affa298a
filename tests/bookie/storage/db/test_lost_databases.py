"""bookkeeper_tx.bookie.storage.db.lost_databases: no start on entry logs whose ledgers nobody would know."""

from pathlib import Path

import pytest

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.storage.conversion import INDEX_FILES, ROCKSDB, Conversion
from bookkeeper_tx.bookie.storage.conversion_state import COPYING, ConversionState
from bookkeeper_tx.bookie.storage.db.lost_databases import refuse_lost_databases
from bookkeeper_tx.errors import NoSuchEntry, RefusedToStart, StorageFailed
from protocol_specs.ledger_id import join
from tests.bookie.crashing_disk import DIRECTORY, Crashed, CrashingDisk, new_disk
from tests.bookie.seams import KEY, entry, run_of
from tests.bookie.storage.several import test_conversion as several
from tests.bookie.storage.several.several_storages import SECOND, several_storages, two_disks
from tests.bookie.storage.storages import add, flush, new_storage, read
from tests.conftest import result_of
from tests.sampling import stride

NAMES = ("ledgers", "locations")
SCOPED = join(3, 2)


def filled(name: str, ledger_id: int = 5) -> CrashingDisk:
    """Return the disk of a storage of a class that has one ledger, and was stopped."""
    disk = new_disk(0)
    storage = new_storage(disk, DIRECTORY, ledger_storage_class=name)
    storage.open_for(ledger_id, KEY)
    add(storage, run_of(0, 50, ledger_id=ledger_id))
    flush(storage)
    result_of(storage.stop())
    return disk


def lose(disk: CrashingDisk, directory: str) -> None:
    for name in NAMES:
        disk.remove_key_values(f"{directory}/{name}")


@pytest.mark.parametrize("directory", [DIRECTORY, SECOND])
def test_a_directory_that_has_logs_and_no_databases_refuses_the_start(directory: str) -> None:
    disk = two_disks()
    several.fill(disk, ROCKSDB)
    lose(disk, directory)
    with pytest.raises(RefusedToStart, match=f"no database {directory}/ledgers.*rebuild-index --renumber.*convert"):
        several_storages(disk)
    assert not disk.exists(f"{directory}/ledgers")
    with pytest.raises(RefusedToStart, match=f"no database {directory}/ledgers"):
        several.convert(disk, INDEX_FILES)
    assert not disk.exists(f"{DIRECTORY}/CONVERTING")


@pytest.mark.parametrize("ledger_id", [5, SCOPED])
def test_so_does_the_only_directory(ledger_id: int) -> None:
    disk = filled(ROCKSDB, ledger_id)
    lose(disk, DIRECTORY)
    with pytest.raises(RefusedToStart, match="would be told as unknown"):
        new_storage(disk, DIRECTORY, ledger_storage_class=ROCKSDB)


def test_without_both_databases_of_other_scopes_it_starts_and_does_not_know_their_ledgers() -> None:
    disk = filled(ROCKSDB, SCOPED)
    for name in ("scopedLedgers", "scopedLocations"):
        disk.remove_key_values(f"{DIRECTORY}/{name}")
    assert new_storage(disk, DIRECTORY, ledger_storage_class=ROCKSDB).ledger(SCOPED) is None


def test_an_emptied_database_is_a_lost_one(tmp_path: Path) -> None:
    pytest.importorskip("rocksdict")
    database = tmp_path / "ledgers"
    refuse_lost_databases(Disk(), str(tmp_path), [str(tmp_path)])
    (tmp_path / "0.log").touch()
    Disk().open_key_values(str(database), several.CONFIG).close()
    refuse_lost_databases(Disk(), str(tmp_path), [str(tmp_path)])
    for file in database.iterdir():
        file.unlink()
    with pytest.raises(RefusedToStart, match=f"no database {database}, but"):
        refuse_lost_databases(Disk(), str(tmp_path), [str(tmp_path)])


def test_a_database_that_cannot_be_looked_at_is_not_taken_for_a_missing_one(tmp_path: Path) -> None:
    (tmp_path / "ledgers").symlink_to("ledgers")
    with pytest.raises(OSError, match="symbolic links"):
        Disk().has_key_values(str(tmp_path / "ledgers"))


def test_databases_that_are_lost_in_a_conversion_are_not_taken_for_empty_ones() -> None:
    disk = filled(ROCKSDB)
    ConversionState(disk, [DIRECTORY], [DIRECTORY], INDEX_FILES).write(COPYING)
    lose(disk, DIRECTORY)
    for _ in range(2):
        with pytest.raises(RefusedToStart, match=f"no database {DIRECTORY}/ledgers"):
            Conversion(disk, [DIRECTORY], INDEX_FILES, several.CONFIG).run()


def test_what_is_told_to_do_helps() -> None:
    disk = filled(INDEX_FILES)
    with pytest.raises(RefusedToStart, match="convert"):
        new_storage(disk, DIRECTORY, ledger_storage_class=ROCKSDB)
    Conversion(disk, [DIRECTORY], ROCKSDB, several.CONFIG).run()
    again = new_storage(disk, DIRECTORY, ledger_storage_class=ROCKSDB)
    assert read(again, 5, 0) == entry(0, 50, 5)


def test_a_check_that_was_told_of_the_loss_starts_and_marks() -> None:
    disk = two_disks()
    several.fill(disk, ROCKSDB)
    lose(disk, SECOND)
    storage = several_storages(disk, logs_lost=True, data_integrity_checking=True)
    assert storage.limbo.needs_check()
    assert storage.ledger(5) is None
    assert read(storage, 0, 29) == entry(29, 100, 0)


def test_a_first_start_that_was_killed_anywhere_is_begun_again() -> None:
    step, ended = 0, False
    while not ended:
        disk = two_disks(step)
        disk.crash_at = step
        try:
            storage = several_storages(disk)
            for ledger_id in (5, 6, SCOPED):
                storage.open_for(ledger_id, KEY)
                add(storage, run_of(0, 50, ledger_id=ledger_id))
            flush(storage)
            ended = True
        except (Crashed, StorageFailed, OSError):
            pass
        disk.crash_at = None
        disk.crash()
        disk.restart()
        storage = several_storages(disk)
        storage.open_for(5, KEY)
        with pytest.raises(NoSuchEntry):
            read(storage, 5, 1)
        step += stride()
    assert step > 10

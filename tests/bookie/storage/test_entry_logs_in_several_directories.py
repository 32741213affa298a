"""bookkeeper_tx.bookie.storage.entry_log with several directories."""

import errno
import os
from array import array

import pytest

from bookkeeper_tx.bookie.storage.checked_pieces import CheckedPieces
from bookkeeper_tx.bookie.storage.entry_location import split_location
from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter
from bookkeeper_tx.bookie.storage.entry_log_metadata import LogName, count
from bookkeeper_tx.bookie.storage.entry_reader import EntryReader
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import SCOPED, run_of
from tests.bookie.storage.storages import log_directories

SECOND, THIRD = "/second/current", "/third/current"
ALL = (DIRECTORY, SECOND, THIRD)


@pytest.fixture(autouse=True)
def _directories(disk: CrashingDisk) -> None:
    for path in ALL:
        disk.make_directories(path)


class Bench:
    """A writer, and a reader of what it has written."""

    def __init__(self, disk: CrashingDisk, *directories: str, size_max: int = 1 << 30) -> None:
        self.disk = disk
        self.directories = log_directories(disk, *directories)
        self.writer = EntryLogWriter(disk, self.directories, size_max)
        self.writer.start()
        self.reader = EntryReader(disk, self.directories, CheckedPieces())
        self.places: dict[int, tuple[int, int]] = {}

    def write(self, entry_id: int, size: int = 100, ledger_id: int = 1) -> int:
        """Write an entry; return the id of its log."""
        run = run_of(entry_id, size, ledger_id=ledger_id)
        self.writer.check_room(run.size)
        ((_, (placed,)),) = self.writer.write([(ledger_id, [run])])
        self.places[entry_id] = ledger_id, placed.base + run.offsets[0]
        return split_location(self.places[entry_id][1])[0]

    def check(self) -> None:
        for entry_id, (ledger_id, place) in self.places.items():
            assert self.reader.read_run(ledger_id, entry_id, array("Q", [place]), 0).first_entry_id == entry_id

    def where(self) -> dict[str, str]:
        """Return the directory of each log."""
        return {name: path for path in ALL for name in self.disk.list_directory(path) if ".log" in name}


def test_logs_go_from_one_directory_to_another(disk: CrashingDisk) -> None:
    bench = Bench(disk, *ALL, size_max=1200)
    assert [bench.write(entry_id) for entry_id in range(4)] == [0, 1, 2, 3]
    assert bench.where() == {"0.log": DIRECTORY, "1.log": SECOND, "2.log": DIRECTORY, "3.log": SECOND}
    bench.check()
    assert [disk.read(f"{path}/lastId") for path in ALL] == [b"3\n"] * 3


def test_ledgers_of_other_scopes_have_logs_of_their_own_and_the_same_ids(disk: CrashingDisk) -> None:
    bench = Bench(disk, DIRECTORY, SECOND)
    assert [bench.write(0), bench.write(1, ledger_id=SCOPED)] == [0, 1]
    assert bench.where() == {"0.log": DIRECTORY, "1.log128": SECOND}
    bench.check()


@pytest.mark.parametrize("remembers", [True, False])
def test_ids_are_used_once_in_all_directories(disk: CrashingDisk, remembers: bool) -> None:
    bench = Bench(disk, *ALL, size_max=1200)
    for entry_id in range(4):
        bench.write(entry_id)
    for path in ALL if not remembers else (DIRECTORY, THIRD):
        disk.remove(f"{path}/lastId")
    if remembers:
        for name in ("3.log", "2.log"):
            bench.directories.remove(name)
    assert Bench(disk, *ALL).write(9) == 4


def test_a_log_on_a_full_disk_ends_and_the_next_one_is_elsewhere(disk: CrashingDisk) -> None:
    bench = Bench(disk, DIRECTORY, SECOND)
    assert bench.write(0) == 0
    disk.full_directories = {DIRECTORY}
    assert bench.write(1) == 1
    disk.full_directories = ()
    assert bench.write(2) == 1
    assert bench.where() == {"0.log": DIRECTORY, "1.log": SECOND}
    bench.check()
    metadata = count(disk, DIRECTORY, LogName(0))  # no room for the map: it is counted entry by entry
    assert list(metadata.ledger_ids()) == [1]
    assert "0.log" not in bench.writer.written_names


def test_when_no_disk_has_room_nothing_is_tried(disk: CrashingDisk) -> None:
    bench = Bench(disk, DIRECTORY, SECOND)
    disk.capacity = 50
    with pytest.raises(OSError, match="bytes of entries"):
        bench.write(0)
    assert bench.where() == {}
    disk.capacity = None
    bench.write(0)
    bench.check()


@pytest.mark.parametrize("begun", [True, False])
def test_after_a_write_that_failed_another_disk_is_tried(disk: CrashingDisk, begun: bool) -> None:
    bench = Bench(disk, DIRECTORY, SECOND)
    if begun:
        bench.write(0)
    disk.broken_directories = {DIRECTORY}
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        bench.write(1)
    later = bench.write(1)
    assert bench.where()[f"{later:x}.log"] == SECOND
    bench.check()


def test_the_newest_id_may_be_missing_on_a_broken_disk(disk: CrashingDisk) -> None:
    bench = Bench(disk, DIRECTORY, SECOND)
    disk.broken_directories = {SECOND}
    assert bench.write(0) == 0
    assert "lastId" not in disk.list_directory(SECOND)
    assert Bench(disk, DIRECTORY, SECOND).write(0) == 1

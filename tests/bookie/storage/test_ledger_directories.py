"""bookkeeper_tx.bookie.storage.ledger_directories: where logs are, and where the next one goes."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.bookie.space import LedgerDisks
from bookkeeper_tx.bookie.storage.ledger_directories import LedgerDirectories
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.storage.storages import disks_of, log_directories

SECOND = "/second/current"
SIZE = 1000
NAMES = ("/a", "/b", "/c")


class Sizes:
    """A disk for each directory, with as much room as the test says; None: it is broken."""

    def __init__(self, free: dict[str, int | None]) -> None:
        self.free = free

    def total_bytes(self, path: str) -> int:
        return SIZE

    def free_bytes(self, path: str) -> int:
        free = self.free[path]
        if free is None:
            raise OSError(5, "broken", path)
        return free


def looked_at(full: dict[str, bool], free: dict[str, int | None]) -> tuple[LedgerDirectories, LedgerDisks]:
    """Return directories whose disks were as full as ``full`` says at the last look, and have so much room now."""
    disk: Any = Sizes({name: 0 if full[name] else SIZE for name in full})
    config = BookieConfig(metadata_uri="", journal_directory="", ledger_directory="", entry_log_bytes_max=100)
    disks = LedgerDisks(disk, NAMES, config)
    disks.look()
    disk.free = free
    return LedgerDirectories(disk, disks, random.Random(1).choice), disks


rooms = st.fixed_dictionaries({name: st.one_of(st.none(), st.integers(0, SIZE)) for name in NAMES})
states = st.fixed_dictionaries({name: st.booleans() for name in NAMES})


@given(full=states, free=rooms, last=st.sampled_from((None, *NAMES)), size=st.integers(1, SIZE))
def test_the_next_log_goes_where_there_is_room_and_not_where_the_last_one_is(
    full: dict[str, bool], free: dict[str, int | None], last: str | None, size: int
) -> None:
    directories, disks = looked_at(full, free)
    with_room = {name for name in NAMES if (free[name] or 0) >= size}
    good = with_room.intersection(disks.for_entry_log() or NAMES)
    chosen = directories.next(last, size)
    if good:
        assert chosen in good
        assert chosen != last or good == {last}
    else:
        assert (free[chosen] or 0) == max(each or 0 for each in free.values())
    for name in NAMES:
        assert directories.is_to_leave(name, size) == (bool(good) and name not in good)


@given(free=rooms, size=st.integers(1, SIZE))
def test_what_fits_no_disk_is_refused(free: dict[str, int | None], size: int) -> None:
    directories, _ = looked_at(dict.fromkeys(NAMES, False), free)
    if any((each or 0) >= size for each in free.values()):
        directories.check_room(size)
    else:
        with pytest.raises(OSError, match=f"{size} bytes of entries"):
            directories.check_room(size)


def test_each_directory_gets_logs() -> None:
    directories, _ = looked_at(dict.fromkeys(NAMES, False), dict.fromkeys(NAMES, SIZE))
    assert {directories.next("/a", 1) for _ in range(50)} == {"/b", "/c"}


def test_one_directory_is_never_left(disk: CrashingDisk) -> None:
    directories = log_directories(disk)
    disk.full_directories = {DIRECTORY}
    assert directories.next(DIRECTORY, 10) == DIRECTORY
    assert not directories.is_to_leave(DIRECTORY, 10)


def test_a_log_is_found_where_it_is(disk: CrashingDisk) -> None:
    disk.make_directories(SECOND)
    for path in (f"{DIRECTORY}/0.log", f"{SECOND}/1.log", f"{SECOND}/2.log128", f"{SECOND}/lastId"):
        disk.create(path)
    directories = log_directories(disk, DIRECTORY, SECOND)
    assert sorted(directories.find()) == ["0.log", "1.log", "2.log128", "lastId"]
    assert [directories.path(name) for name in ("0.log", "1.log", "2.log128")] == [
        f"{DIRECTORY}/0.log",
        f"{SECOND}/1.log",
        f"{SECOND}/2.log128",
    ]
    directories.remove("1.log")
    assert disk.list_directory(SECOND) == ["2.log128", "lastId"]
    assert not directories.has("1.log")
    disk.crash()
    disk.restart()
    assert "1.log" not in disk.list_directory(SECOND)


def test_a_log_that_is_there_twice_is_refused(disk: CrashingDisk) -> None:
    disk.make_directories(SECOND)
    for directory in (DIRECTORY, SECOND):
        disk.create(f"{directory}/7.log")
    with pytest.raises(RefusedToStart, match=f"7.log is in {DIRECTORY} and in {SECOND}"):
        log_directories(disk, DIRECTORY, SECOND).find()


def test_without_a_look_no_disk_is_full(disk: CrashingDisk) -> None:
    disk.make_directories(SECOND)
    assert disks_of(disk, DIRECTORY, SECOND).for_entry_log() == [DIRECTORY, SECOND]

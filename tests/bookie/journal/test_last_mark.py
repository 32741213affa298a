import contextlib

import pytest

from bookkeeper_tx.bookie.journal.last_mark import BEGINNING, LogMark, read_last_mark, write_last_mark
from tests.bookie.crashing_disk import Crashed, CrashingDisk


@pytest.fixture
def disk() -> CrashingDisk:
    disk = CrashingDisk()
    disk.make_directories("/a")
    disk.make_directories("/b")
    return disk


def test_no_mark_is_the_beginning(disk: CrashingDisk) -> None:
    assert read_last_mark(disk, ["/a", "/b"]) == BEGINNING
    assert read_last_mark(disk, ["/a", "/missing"]) == BEGINNING


def test_bytes_of_the_file(disk: CrashingDisk) -> None:
    write_last_mark(disk, ["/a", "/b"], LogMark(0x1A1FC341649, 1024))
    assert disk.read("/a/lastMark") == disk.read("/b/lastMark") == bytes.fromhex("000001a1fc3416490000000000000400")


def test_the_greatest_counts_and_short_files_do_not(disk: CrashingDisk) -> None:
    write_last_mark(disk, ["/a"], LogMark(7, 9000))
    write_last_mark(disk, ["/b"], LogMark(8, 512))
    assert read_last_mark(disk, ["/a", "/b"]) == LogMark(8, 512)
    disk.replace("/b/lastMark", b"\xff" * 15)
    assert read_last_mark(disk, ["/a", "/b"]) == LogMark(7, 9000)


@pytest.mark.parametrize("crash_at", range(8))
@pytest.mark.parametrize("seed", range(10))
def test_a_crash_leaves_the_old_mark_or_the_new(seed: int, crash_at: int) -> None:
    disk = CrashingDisk(seed)
    disk.make_directories("/a")
    marks = [BEGINNING, LogMark(5, 512), LogMark(6, 1024), LogMark(6, 2048)]
    written = 0
    disk.crash_at = crash_at
    with contextlib.suppress(Crashed):
        for mark in marks[1:]:
            write_last_mark(disk, ["/a"], mark)
            written += 1
    disk.restart()
    assert read_last_mark(disk, ["/a"]) in marks[written : written + 2]


def test_the_text_names_file_and_offset() -> None:
    assert str(LogMark(255, 512)) == "ff.txn at 512"

import errno
import os

import pytest

from bookkeeper_tx.bookie.disk import File
from bookkeeper_tx.bookie.storage.index_writer import IndexChange, IndexWriter, WrittenLocations
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader, LedgerIndexes, page_of
from protocol_specs.fields import NO_ENTRY
from protocol_specs.ledger_id import join
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk, CrashingFile, new_disk
from tests.bookie.seams import KEY, SCOPED
from tests.bookie.storage.storages import placed
from tests.bookie.storage.storages import write_index as write

HEADER = IndexHeader(KEY)


@pytest.fixture
def indexes(disk: CrashingDisk) -> LedgerIndexes:
    return LedgerIndexes(disk, DIRECTORY, 2)


def numbers(written: WrittenLocations) -> list[int]:
    """Return the numbers of the pages that were written to."""
    return list(dict.fromkeys(number for number, _, _ in written.parts))


def file_of(disk: CrashingDisk, indexes: LedgerIndexes, ledger_id: int) -> bytes:
    return disk.read(indexes.path(ledger_id))


def test_a_header_alone_is_1024_bytes(disk: CrashingDisk, indexes: LedgerIndexes) -> None:
    assert numbers(write(disk, indexes, 5, IndexHeader(KEY, fenced=True), (), True)) == []
    assert len(file_of(disk, indexes, 5)) == 1024
    assert indexes.read_header(5) == IndexHeader(KEY, fenced=True)
    assert indexes.last_entry(5) == (NO_ENTRY, 0)


def test_pages_are_whole_and_locations_big_endian(disk: CrashingDisk, indexes: LedgerIndexes) -> None:
    assert numbers(write(disk, indexes, 5, HEADER, [placed(0, 2), placed(1030, 1, 3 << 32)], True)) == [0, 1]
    data = file_of(disk, indexes, 5)
    assert len(data) == 1024 + 2 * 8192
    assert data[1024:1048].hex() == "0000000000000404" + "0000000000000426" + "0" * 16
    assert data[1024 + 8 * 1030 :][:8].hex() == "0000000300000000"
    assert indexes.last_entry(5) == (1030, 3 << 32)
    assert list(indexes.read_page(5, 0)[:3]) == [1028, 1062, 0]
    assert (page_of(1023), page_of(1024)) == (0, 1)


def test_new_locations_leave_the_others_alone(disk: CrashingDisk, indexes: LedgerIndexes) -> None:
    write(disk, indexes, 5, HEADER, [placed(0, 1, 100), placed(2, 1, 200)], True)
    write(disk, indexes, 5, None, [placed(1, 1, 300), placed(3, 1, 400)], False)
    assert list(indexes.read_page(5, 0)[:5]) == [100, 300, 200, 400, 0]
    assert list(indexes.read_page(5, 0, 2, 1)) == [300, 200]
    assert indexes.read_header(5) == HEADER


def test_a_run_over_a_page_boundary(disk: CrashingDisk, indexes: LedgerIndexes) -> None:
    assert numbers(write(disk, indexes, 5, HEADER, [placed(1000, 1100, 1028)], True)) == [0, 1, 2]
    found = [location for number in range(3) for location in indexes.read_page(5, number)]
    assert found == [0] * 1000 + [1028 + 34 * at for at in range(1100)] + [0] * (3 * 1024 - 2100)


def test_what_was_written_is_told_by_page(disk: CrashingDisk, indexes: LedgerIndexes) -> None:
    runs = [placed(1022, 1, 100), placed(1023, 2, 200), placed(1025, 1030, 300), placed(3000, 1, 400)]
    written = write(disk, indexes, 5, HEADER, runs, True)
    assert [(number, slot, len(locations)) for number, slot, locations in written.parts] == [
        (0, 1022, 2),
        (1, 0, 1024),
        (2, 0, 7),
        (2, 952, 1),
    ]
    for number, slot, locations in written.parts:
        assert indexes.read_page(5, number)[slot : slot + len(locations)] == locations


def test_a_header_change_keeps_the_pages(disk: CrashingDisk, indexes: LedgerIndexes) -> None:
    write(disk, indexes, 5, HEADER, [placed(0, 1)], True)
    write(disk, indexes, 5, IndexHeader(KEY, True, b"x" * 16), (), False)
    assert indexes.read_header(5) == IndexHeader(KEY, True, b"x" * 16)
    assert indexes.last_entry(5) == (0, 1028)


def test_a_leftover_of_a_crash_is_written_over(disk: CrashingDisk, indexes: LedgerIndexes) -> None:
    disk.make_directories(f"{DIRECTORY}/0/5")
    disk.create(indexes.path(5) + ".new").write(b"half", 0)
    write(disk, indexes, 5, HEADER, (), True)
    assert disk.list_directory(f"{DIRECTORY}/0/5") == ["5.idx"]
    assert indexes.read_header(5) == HEADER


def test_a_new_file_has_its_name_only_when_it_is_whole(disk: CrashingDisk, indexes: LedgerIndexes) -> None:
    disk.fail_syncs(1)
    with pytest.raises(OSError, match="Input/output"):
        write(disk, indexes, 5, HEADER, [placed(0, 1)], True)
    assert indexes.read_header(5) is None


def test_a_new_file_that_vanishes_after_its_write_has_failed_is_not_made_once_more(
    disk: CrashingDisk, indexes: LedgerIndexes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be lost when the other one comes back."""

    def fail(path: str) -> None:
        raise OSError(errno.EIO, f"no sync of {path}")

    writer = IndexWriter(disk, indexes)
    changes = [IndexChange(each, HEADER, [placed(0, 1)], is_new=True) for each in (5, 6)]
    with monkeypatch.context() as patched:
        patched.setattr(disk, "sync_directory", fail)
        with pytest.raises(OSError, match="no sync"):
            writer.write(changes)
    disk.rename(indexes.path(5), f"{DIRECTORY}/away")
    with pytest.raises(FileNotFoundError, match="the index has vanished"):
        writer.write(changes)
    disk.rename(f"{DIRECTORY}/away", indexes.path(5))
    writer.write(changes)
    assert [indexes.last_entry(each) for each in (5, 6)] == [(0, 1028)] * 2
    writer.delete([5])
    writer.write(changes)
    assert indexes.last_entry(5) == (0, 1028)


def test_a_new_file_needs_a_header(disk: CrashingDisk, indexes: LedgerIndexes) -> None:
    with pytest.raises(ValueError, match="header"):
        write(disk, indexes, 5, None, [placed(0, 1)], True)


def test_many_indexes_are_written_together(disk: CrashingDisk, indexes: LedgerIndexes) -> None:
    writer = IndexWriter(disk, indexes)
    ledgers = [*range(200), SCOPED, join(1, 7)]
    first = writer.write([IndexChange(each, HEADER, [placed(0, each % 3)], True) for each in ledgers])
    assert [numbers(each) for each in first] == [[0] if each % 3 else [] for each in ledgers]
    fenced = IndexHeader(KEY, fenced=True)
    writer.write([IndexChange(each, fenced if each % 2 else None, [placed(1024, 1, 5)]) for each in ledgers])
    for each in ledgers:
        assert indexes.read_header(each) == (fenced if each % 2 else HEADER)
        assert indexes.last_entry(each) == (1024, 5)
        assert list(indexes.read_page(each, 0)[:3]) == [1028, 1062, 0][: each % 3] + [0] * (3 - each % 3)


@pytest.mark.parametrize("ledger_id", [5, SCOPED])
def test_a_directory_that_a_killed_process_made_is_made_durable(ledger_id: int) -> None:
    for seed in range(20):
        disk = new_disk(seed)
        indexes = LedgerIndexes(disk, DIRECTORY, 2)
        disk.make_directories(indexes.path(ledger_id).rpartition("/")[0], durable=False)
        write(disk, indexes, ledger_id, HEADER, [placed(0, 1)], True)
        disk.crash()
        disk.restart()
        assert LedgerIndexes(disk, DIRECTORY, 2).last_entry(ledger_id) == (0, 1028)


def test_an_index_that_a_killed_process_left_is_made_durable() -> None:
    for seed in range(20):
        disk = new_disk(seed)
        indexes = LedgerIndexes(disk, DIRECTORY, 2)
        disk.make_directories(f"{DIRECTORY}/0/5", durable=False)
        disk.create(indexes.path(5)).write(HEADER.pack(), 0)
        IndexWriter(disk, indexes).write([IndexChange(5, HEADER, [placed(0, 1)], is_doubtful=True)])
        disk.crash()
        disk.restart()
        assert LedgerIndexes(disk, DIRECTORY, 2).last_entry(5) == (0, 1028)


def test_reading_goes_on_while_the_directory_cannot_be_written(disk: CrashingDisk, indexes: LedgerIndexes) -> None:
    """As on a file system that its errors have made read-only."""
    write(disk, indexes, 5, HEADER, [placed(0, 1)], True)
    really_open = disk.open

    def open_file(path: str, writable: bool = False) -> File:
        if writable:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return really_open(path)

    disk.open = open_file  # type: ignore[method-assign]
    assert indexes.read_header(5) == HEADER
    assert indexes.last_entry(5) == (0, 1028)
    with pytest.raises(OSError, match="Read-only"):
        write(disk, indexes, 5, None, [placed(1, 1)], False)


def test_only_new_locations_are_written(
    disk: CrashingDisk, indexes: LedgerIndexes, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(disk, indexes, 5, HEADER, [placed(0, 3)], True)
    written: list[tuple[int, int]] = []
    really_write = CrashingFile.write

    def note(file: CrashingFile, data: bytes, offset: int) -> None:
        written.append((offset, len(data)))
        really_write(file, data, offset)

    monkeypatch.setattr(CrashingFile, "write", note)
    runs = [placed(3, 2), placed(5, 1, 9000), placed(1020, 8), placed(5000, 1)]
    assert numbers(write(disk, indexes, 5, None, runs, False)) == [0, 1, 4]
    assert written == [(1024 + 3 * 8, 3 * 8), (1024 + 1020 * 8, 8 * 8), (1024 + 5000 * 8, 8)]
    assert len(file_of(disk, indexes, 5)) == 1024 + 5 * 8192
    assert indexes.ranges(5, 0, 5) == [range(6), range(1020, 1024), range(1024, 1028), range(5000, 5001)]

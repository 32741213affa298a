"""The records of a journal file: all of a good one, and the place of the damage in another."""

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import crc32c
import pytest

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.reader import JournalFile
from bookkeeper_tx.bookie.journal.records import deleted_record, fence_record, file_start, key_record, seal_pad
from bookkeeper_tx.bookie.offline import journal_records
from bookkeeper_tx.bookie.offline.records import Record
from bookkeeper_tx.model import LedgerId
from protocol_specs.disk import journal as spec
from tests.bookie.seams import run_of

SALT = b"saltsalt"
SCOPED = LedgerId(7, 3)


def entries(ledger_id: int, first: int, count: int, size: int = 60) -> bytes:
    return bytes(run_of(first, *[size] * count, ledger_id=ledger_id).buffer)


def sealed(*groups: bytes, version: int = spec.VERSION, magic: bytes = spec.SEAL_MAGIC) -> bytes:
    data = file_start(SALT, version)
    for group in groups:
        start = len(data)
        data += group
        data += seal_pad(start, len(data), crc32c.crc32c(group), SALT, magic)
    return data


def unsynced(*groups: bytes) -> bytes:
    """As a journal is that is synced now and then: its seals say so."""
    return sealed(*groups, magic=spec.LAZY_SEAL_MAGIC)


def java(*groups: bytes) -> bytes:
    data = bytes(spec.HEADER.build({"version": 6}).ljust(spec.HEADER_SIZE, b"\0"))
    for group in groups:
        data += group
        size = -(len(data) + spec.PAD_HEADER_SIZE) % spec.ALIGNMENT
        data += bytes(spec.PAD_HEADER.build({"mask": spec.PAD_LENGTH, "size": size})) + bytes(size)
    return data


def read(path: Path, data: bytes, start: int = 0) -> list[Record]:
    path.write_bytes(data)
    journal_file = JournalFile.open(Disk(), str(path))
    try:
        return list(journal_records.records_of(journal_file, start))
    finally:
        journal_file.close()


def shown(records: Sequence[Record]) -> list[tuple[str, int | None]]:
    return [(each.kind, each.entry_id) for each in records]


GROUPS = [key_record(5, b"k" * 20) + entries(5, 0, 3), entries(5, 3, 1), fence_record(5)]
EXPECTED = [("ledger key", -0x1000), *(("entry", entry_id) for entry_id in range(4)), ("fence", -0x2000)]


@pytest.mark.parametrize("make", [sealed, unsynced, java])
@pytest.mark.parametrize("window", [64, 600, 1 << 20])
def test_all_records_are_given_with_their_places(tmp_path: Path, make, window: int) -> None:
    data = make(*GROUPS) + bytes(4096)
    with patch.object(journal_records, "WINDOW_SIZE", window):
        found = read(tmp_path / "1.txn", data)
    assert shown(found) == EXPECTED
    assert [data[each.offset + 4 : each.offset + each.size] for each in found] == [each.entry for each in found]
    assert shown(read(tmp_path / "1.txn", data, found[4].offset)) == EXPECTED[4:]


def test_a_deletion_is_given(tmp_path: Path) -> None:
    assert [each.kind for each in read(tmp_path / "1.txn", sealed(deleted_record(5)))] == ["ledger deleted"]


def test_scoped_records_are_given_with_their_ledger(tmp_path: Path) -> None:
    data = sealed(key_record(SCOPED, b"k" * 20) + entries(SCOPED, 0, 2), fence_record(SCOPED), version=7)
    found = read(tmp_path / "1.txn", data)
    assert [each.ledger_id for each in found] == [SCOPED] * 4
    assert shown(found) == [("ledger key", -0x1000), ("entry", 0), ("entry", 1), ("fence", -0x2000)]


@pytest.mark.parametrize("window", [64, 1 << 20])
def test_a_group_that_does_not_fit_its_seal_is_a_problem(tmp_path: Path, window: int) -> None:
    data = bytearray(sealed(*GROUPS))
    data[1100] ^= 1
    with patch.object(journal_records, "WINDOW_SIZE", window):
        *before, problem = read(tmp_path / "1.txn", bytes(data))
    assert shown(before) == EXPECTED[:4]
    assert problem.offset == 1024
    assert "4 records from here to offset" in problem.text
    assert "do not fit their seal" in problem.text


def test_records_without_a_seal_are_a_problem(tmp_path: Path) -> None:
    whole = sealed(*GROUPS[:2])
    found = read(tmp_path / "1.txn", whole + entries(5, 9, 2))
    assert shown(found[:-1]) == [*EXPECTED[:5], ("entry", 9), ("entry", 10)]
    assert (found[-1].offset, found[-1].kind) == (len(whole), "problem")
    assert "the last 2 records have no seal" in found[-1].text


@pytest.mark.parametrize(
    ("tail", "text"),
    [
        (b"\xff\xff\xff\x0f" + bytes(20), "no record starts like this"),
        (b"\x7f\0\0\0" + bytes(20), "ends within a record, of which it has 24 bytes"),
        (b"\x7f\0\0\0" + bytes(900), "no record has 2130706432 bytes"),
        (b"\0\0\0\x05" + bytes(20), "no record starts like this"),
        (bytes(8) + b"x", "not all that follows are zeros"),
        (b"\xff\xff\xff\0\x80\0\0\0", "cannot have -2147483648 bytes"),
        (b"\xff\xff\xff\0\0", "within a pad record"),
        (b"\0\0", None),
        (bytes(5000), None),
    ],
)
def test_what_is_no_record_is_a_problem_with_its_place(tmp_path: Path, tail: bytes, text: str | None) -> None:
    whole = java(*GROUPS)
    with patch.object(journal_records, "WINDOW_SIZE", 700):
        found = read(tmp_path / "1.txn", whole + tail)
    assert shown(found[: len(EXPECTED)]) == EXPECTED
    if text is None:
        assert len(found) == len(EXPECTED)
    else:
        assert found[-1].offset == len(whole)
        assert text in found[-1].text


def test_a_record_larger_than_the_window_is_read_whole(tmp_path: Path) -> None:
    data = java(entries(5, 0, 1, 5000), fence_record(5))
    with patch.object(journal_records, "WINDOW_SIZE", 700):
        found = read(tmp_path / "1.txn", data)
    assert shown(found) == [("entry", 0), ("fence", -0x2000)]
    assert found[0].size == 5004


def test_no_cut_raises(tmp_path: Path) -> None:
    data = sealed(*GROUPS)
    for cut in range(8, len(data), 7):
        read(tmp_path / "1.txn", data[:cut])

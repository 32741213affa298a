from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.storage.ledger_index import (
    IndexHeader,
    LedgerIndexes,
    explicit_lac_size_max,
    without_absent_end,
)
from bookkeeper_tx.errors import StorageFailed
from protocol_specs import vectors
from protocol_specs.disk import ledger_index as spec
from protocol_specs.fields import NO_ENTRY
from protocol_specs.ledger_id import join
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import KEY, SCOPED
from tests.bookie.storage.storages import placed
from tests.bookie.storage.storages import write_index as write

HEADER = IndexHeader(KEY)


@pytest.fixture
def indexes(disk: CrashingDisk) -> LedgerIndexes:
    return LedgerIndexes(disk, DIRECTORY, 2)


@pytest.mark.parametrize(
    ("ledger_id", "name"),
    [
        (0x12345, "23/45/12345.idx"),
        (5, "0/5/5.idx"),
        (0, "0/0/0.idx"),
        (2**63 - 1, "ff/ff/7fffffffffffffff.idx"),
    ],
)
def test_paths_are_unpadded_hex(indexes: LedgerIndexes, ledger_id: int, name: str) -> None:
    assert indexes.path(ledger_id) == f"{DIRECTORY}/{name}"


@pytest.mark.parametrize(
    ("scope_id", "ledger_id", "name"),
    [
        (1, 0x12345, "00000000/00000001/00000000/00012345.idx"),
        (0x23 << 32 | 0x45, 0, "00000023/00000045/00000000/00000000.idx"),
        (-1, -2, "ffffffff/ffffffff/ffffffff/fffffffe.idx"),
    ],
)
def test_paths_outside_scope_0_have_four_levels(
    indexes: LedgerIndexes, scope_id: int, ledger_id: int, name: str
) -> None:
    assert indexes.path(join(scope_id, ledger_id)) == f"{DIRECTORY}/{name}"


def test_the_holes_of_a_sparse_index_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single add makes an index of any length."""
    indexes, last = LedgerIndexes(Disk(), str(tmp_path), 2), 100_000 * spec.PAGE_COUNT
    write(Disk(), indexes, 5, HEADER, [placed(3, 2), placed(last, 1)], True)
    reads: list[int] = []
    really_read = File.read
    monkeypatch.setattr(File, "read", lambda file, size, at: reads.append(at) or really_read(file, size, at))  # type: ignore
    assert indexes.ranges(5, 0, 200_000) == [range(3, 5), range(last, last + 1)]
    assert indexes.next_page(5, 5) in (99_999, 100_000), "the system knows holes by its own blocks"
    assert indexes.next_page(5, 100_005) is None
    assert len(reads) < 10


def test_an_index_that_is_not_there_is_an_error(indexes: LedgerIndexes) -> None:
    with pytest.raises(StorageFailed, match="No such file"):
        indexes.next_page(5, 0)
    with pytest.raises(StorageFailed, match="No such file"):
        indexes.ranges(5, 0, 10)


def test_an_index_outside_scope_0_is_read_as_it_was_written(disk: CrashingDisk, indexes: LedgerIndexes) -> None:
    lac = b"\xa4" + SCOPED.to_bytes(16, "big") + (5).to_bytes(8, "big")
    header = IndexHeader(KEY, True, lac)
    write(disk, indexes, SCOPED, header, [placed(3, 2)], True)
    assert indexes.read_header(SCOPED) == header
    assert indexes.last_entry(SCOPED) == (4, 1028 + 34)
    for bad in (b"\xb4" + lac[1:], lac[:24]):
        write(disk, indexes, SCOPED, IndexHeader(KEY, True, bad), [], False)
        with pytest.raises(StorageFailed, match="bad explicit last add confirmed"):
            indexes.read_header(SCOPED)


def test_headers_are_those_of_the_vectors() -> None:
    found = [each for each in vectors.load("disk") if each["spec"] == "disk/ledger_index.HEADER"]
    for vector in found:
        data = bytes.fromhex(vector["hex"]).ljust(1024, b"\0")
        header = IndexHeader.unpack("x", data)
        assert header.master_key.hex() == vector["fields"]["master_key"]
        assert header.fenced == bool(vector["fields"]["state"])
        assert header.explicit_lac.hex() == (vector["fields"]["explicit_lac"] or "")
        if vector["fields"]["version"] == 1:
            assert header.pack() == data
    assert len(found) == 3


@pytest.mark.parametrize(
    ("at", "data"),
    [(0, b"X"), (4, b"\0\0\0\2"), (4, b"\xff"), (8, b"\xff\xff\xff\xff"), (8, b"\0\0\5\0"), (36, b"\0\0\0\x0f")],
    ids=["magic", "version", "negative version", "negative key size", "large key size", "short explicit LAC"],
)
def test_a_broken_header_is_refused(at: int, data: bytes) -> None:
    good = HEADER.pack()
    with pytest.raises(StorageFailed, match=r"^index x is damaged, .* `bktx bookie regenerate-index` makes it anew$"):
        IndexHeader.unpack("x", good[:at] + data + good[at + len(data) :])


def test_the_largest_explicit_lac_fits_and_no_larger_one() -> None:
    size = explicit_lac_size_max(KEY)
    header = IndexHeader(KEY, True, b"x" * size)
    assert IndexHeader.unpack("x", header.pack()) == header
    assert len(header.pack()) == 1024
    with pytest.raises(ValueError, match="does not fit"):
        IndexHeader(KEY, True, b"x" * (size + 1)).pack()


@pytest.mark.parametrize(("kept", "last"), [(1024 + 24, 2), (1024 + 23, 1), (1024 + 7, NO_ENTRY), (1024, NO_ENTRY)])
def test_a_file_that_ends_within_a_page(disk: CrashingDisk, indexes: LedgerIndexes, kept: int, last: int) -> None:
    write(disk, indexes, 5, HEADER, [placed(0, 3)], True)
    locations = list(indexes.read_page(5, 0, 3))
    disk.open(indexes.path(5), writable=True).truncate(kept)
    assert indexes.last_entry(5)[0] == last
    assert list(indexes.read_page(5, 0)) == locations[: last + 1]


def test_the_last_entry_may_lie_before_empty_pages(disk: CrashingDisk, indexes: LedgerIndexes) -> None:
    write(disk, indexes, 5, HEADER, [placed(7, 1)], True)
    disk.open(indexes.path(5), writable=True).truncate(1024 + 5 * 8192)
    assert indexes.last_entry(5) == (7, 1028)


def test_an_unknown_ledger_has_nothing(indexes: LedgerIndexes) -> None:
    assert indexes.read_header(5) is None
    with pytest.raises(StorageFailed, match="No such file"):
        indexes.last_entry(5)
    with pytest.raises(StorageFailed, match="No such file"):
        indexes.read_page(5, 0)


@pytest.mark.parametrize("data", [b"", b"BKLE", bytes(1024), bytes(1024 + 8192)])
def test_a_file_without_header_is_unfinished_at_replay_and_broken_later(
    disk: CrashingDisk, indexes: LedgerIndexes, data: bytes
) -> None:
    disk.make_directories(f"{DIRECTORY}/0/5")
    disk.replace(indexes.path(5), data)
    assert indexes.read_header(5, replaying=True) is None
    with pytest.raises(StorageFailed):
        indexes.read_header(5)


def test_the_ids_that_have_locations(disk: CrashingDisk, indexes: LedgerIndexes) -> None:
    header = IndexHeader(KEY)
    write(disk, indexes, 7, header, [placed(0, 1), placed(2, 3), placed(1020, 2000), placed(5000, 1)], True)
    found = [range(1), range(2, 5), range(1020, 1024), range(1024, 2048), range(2048, 3020), range(5000, 5001)]
    assert indexes.ranges(7, 0, 6) == found
    assert indexes.ranges(7, 1, 2) == [range(1024, 2048), range(2048, 3020)]


def test_the_ledgers_that_have_an_index(disk: CrashingDisk, indexes: LedgerIndexes) -> None:
    assert list(indexes.ledger_ids()) == []
    ledgers = [0, 5, 0x12345, 0x22345, 2**63 - 1, SCOPED, join(1, 0x12345)]
    for ledger_id in ledgers:
        write(disk, indexes, ledger_id, HEADER, (), True)
    strays = ("0/5/7.idx", "0/5/9.idx.new", "0/5/x.idx", "0/5/.idx", "5/5.idx", "a/b.log", "0.log", "ab", "lastId")
    for name in strays:
        directory = f"{DIRECTORY}/{name}".rpartition("/")[0]
        disk.make_directories(directory)
        disk.create(f"{DIRECTORY}/{name}")
    assert sorted(indexes.ledger_ids()) == sorted(ledgers)


def test_a_file_with_the_name_of_a_directory_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "ab").touch()
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "5").touch()
    (tmp_path / "00000001").touch()
    assert list(LedgerIndexes(Disk(), str(tmp_path), 2).ledger_ids()) == []


@given(st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([0, 1, 256, 2**56]), max_size=20), st.integers(0, 5))
def test_a_page_without_its_absent_end_has_all_locations(locations: list[int], absent: int) -> None:
    page = without_absent_end(array("Q", locations + [0] * absent))
    assert not page or page[-1]
    assert list(page) == locations[: len(page)]
    assert not any(locations[len(page) :])

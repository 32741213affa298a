"""The ledgers map of an entry log, and the count that replaces it."""

from pathlib import Path

import pytest

from bookkeeper_tx.bookie.offline.ledgers_map import count_ledgers, read_map
from bookkeeper_tx.errors import StorageFailed
from tests.bookie.offline.logs import log_file
from tests.entry.entry_logs import SCOPED_LEDGER, log_of, record

RECORDS = [record(5, 0, b"zero"), record(6, 0, b"another"), record(5, 1, b"one")]
SIZES = {5: len(RECORDS[0]) + len(RECORDS[2]), 6: len(RECORDS[1])}


@pytest.mark.parametrize("count", [1, 2, 25_000])
def test_a_map_of_any_size_is_read(tmp_path: Path, count: int) -> None:
    sizes = {each: each + 1 for each in range(count)}
    with log_file(tmp_path / "0.log", log_of(RECORDS, map_of=sizes)) as (file, header):
        assert dict(read_map(file, header)) == sizes


def test_a_scoped_map_is_read(tmp_path: Path) -> None:
    data = log_of([], map_of={SCOPED_LEDGER: 12}, scoped=True)
    with log_file(tmp_path / "0.log128", data) as (file, header):
        assert dict(read_map(file, header)) == {SCOPED_LEDGER: 12}


@pytest.mark.parametrize("at", [3, 11, 19, 23])
def test_a_damaged_map_says_where(tmp_path: Path, at: int) -> None:
    data = bytearray(log_of(RECORDS, map_of=SIZES))
    start = len(log_of(RECORDS))
    data[start + at] ^= 1
    with (
        log_file(tmp_path / "0.log", bytes(data)) as (file, header),
        pytest.raises(StorageFailed, match=f"damaged at offset {start}"),
    ):
        list(read_map(file, header))


def test_a_map_that_is_cut_says_where(tmp_path: Path) -> None:
    data = log_of(RECORDS, map_of=SIZES)[:-1]
    with log_file(tmp_path / "0.log", data) as (file, header), pytest.raises(StorageFailed, match="damaged"):
        list(read_map(file, header))


def test_records_are_counted_with_their_length_words(tmp_path: Path) -> None:
    with log_file(tmp_path / "0.log", log_of(RECORDS, map_of={5: 1})) as (file, header):
        assert count_ledgers(file, header) == (SIZES, [])
    with log_file(tmp_path / "0.log", log_of(RECORDS)[:-1]) as (file, header):
        sizes, problems = count_ledgers(file, header)
    assert sizes == {5: len(RECORDS[0]), 6: len(RECORDS[1])}
    assert len(problems) == 1

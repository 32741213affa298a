"""Walking entry logs: headers, and records many at a time; tests/spark/entrylog/test_scan.py has whole scans."""

import pytest

from bookkeeper_tx.entry.entry_log_scan import parse_header, walk
from tests.entry.entry_logs import SCOPED_LEDGER, log_of, record


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "ends after 0 bytes"),
        (b"BKLO", "within its header"),
        (b"JUNK".ljust(1024, b"\0"), "no entry log"),
        (b"BKLO\0\0\0\x09".ljust(1024, b"\0"), "version 9"),
    ],
)
def test_a_header_that_is_none_says_why(data: bytes, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        parse_header(data)


def test_the_header_tells_scoped_logs() -> None:
    assert not parse_header(log_of([])).scoped
    assert parse_header(log_of([record(SCOPED_LEDGER, 0, b"")], scoped=True)).scoped


def test_records_of_one_size_are_found_like_others() -> None:
    same = [record(5, entry_id, b"x" * 20) for entry_id in range(1000)]
    buffer = b"".join([*same, record(5, 0, b"y"), *same])
    walked = walk(buffer, 0)
    assert sum(walked.stretch.counts) == 2001
    assert walked.end == len(buffer)
    assert not walked.damaged


def test_a_stretch_gives_its_records_in_order() -> None:
    records = [record(5, 0, b"x" * 9), *(record(5, each, b"y" * 20) for each in range(40)), record(5, 9, b"")]
    found = list(walk(b"".join(records), 0).stretch)
    assert [size for _, size in found] == [len(each) for each in records]
    assert found[-1][0] == sum(map(len, records[:-1]))

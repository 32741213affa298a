"""What a record says."""

import pytest

from bookkeeper_tx.bookie.journal.records import fence_record, key_record
from bookkeeper_tx.bookie.offline.records import read_record
from bookkeeper_tx.model import LedgerId
from tests.entry.entry_logs import record

SCOPED = LedgerId(7, 3)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (record(5, 3, b"xy"), "offset 99: entry 3 of ledger 5, 42 bytes, last add confirmed 2, length 2"),
        (record(5, 3, b"xy")[:24], "offset 99: entry 3 of ledger 5, 24 bytes"),
        (fence_record(5), "offset 99: fence of ledger 5, 20 bytes"),
        (key_record(SCOPED, b"k" * 20), f"offset 99: ledger key of ledger {SCOPED.qualified_name}, 53 bytes"),
        (record(SCOPED, 0, b""), f"offset 99: entry 0 of ledger {SCOPED.qualified_name}, 49 bytes"),
        (b"\0\0\0\x10" + b"\0" * 8 + b"\xff" * 8, "offset 99: record -1 of ledger 0, 20 bytes"),
        (b"\0\0\0\x03abc", "offset 99: a record of 3 bytes is too short for the ids of an entry"),
        (b"\0\0\0\0", "offset 99: a record of 0 bytes is too short for the ids of an entry"),
    ],
)
def test_a_record_is_told(data: bytes, text: str) -> None:
    before = b"before"
    found = read_record(before + data + b"after", len(before), len(data), 99)
    assert str(found).startswith(text)
    assert found.kind == "problem" or found.entry == data[4:]


def test_a_record_of_no_ledger_is_no_entry() -> None:
    data = b"\0\0\0\x10" + b"\xff" * 8 + b"\0" * 8
    assert read_record(data, 0, len(data), 0).kind == "record of no ledger"

"""Records of entry logs as rows."""

from typing import Any

import pyarrow as pa
import pytest

from bookkeeper_tx.bookie.storage.entry_log_format import header
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.spark.entrylog.columns import EVERY_COLUMN, LogColumns
from bookkeeper_tx.spark.entrylog.scan import Problem, Records, scan
from protocol_specs.fields import record_length
from tests.entry.entry_logs import SCOPED_LEDGER, direct_log_of, log_of, offsets_of, reader, record

ALL = EVERY_COLUMN.names


def rows_of(
    data: bytes, *, scoped: bool = False, rows_max: int = 1000, bytes_max: int = 1 << 20
) -> list[dict[str, Any]]:
    return pa.Table.from_batches(batches_of(data, scoped, rows_max, bytes_max)).to_pylist()


def batches_of(data: bytes, scoped: bool, rows_max: int, bytes_max: int) -> list[pa.RecordBatch]:
    columns = LogColumns("/data/current/1f.log", 31, scoped, DigestType.CRC32C)
    batches: list[pa.RecordBatch] = []
    for found in scan(reader(data), len(data)):
        if isinstance(found, Problem):
            batches.append(columns.problem(found, ALL))
        else:
            batches += columns.batches(found, ALL, rows_max, bytes_max)
    return batches


def test_entries_have_their_fields_and_payloads() -> None:
    records = [record(5, 7, b"seven"), record(5, 8, b""), record(2**62, 2**62, b"high")]
    found = rows_of(log_of(records))
    assert [row["payload"] for row in found] == [b"seven", b"", b"high"]
    assert [(row["offset"], row["size"]) for row in found] == offsets_of(records)
    assert found[0] == {
        "path": "/data/current/1f.log",
        "log_id": 31,
        "offset": 1024,
        "size": len(records[0]),
        "kind": "entry",
        "scope_id": 0,
        "ledger_id": 5,
        "entry_id": 7,
        "last_add_confirmed": 6,
        "length": 5,
        "problem": None,
        "digest_ok": True,
        "payload": b"seven",
    }
    assert (found[2]["ledger_id"], found[2]["entry_id"]) == (2**62, 2**62)


def test_payloads_of_one_size_are_as_right_as_others() -> None:
    payloads = [bytes([number] * 30) for number in range(100)]
    records = [record(5, entry_id, payload) for entry_id, payload in enumerate(payloads)]
    assert [row["payload"] for row in rows_of(log_of(records))] == payloads


def test_the_ledgers_map_is_no_entry() -> None:
    found = rows_of(log_of([record(5, 0, b"x")], map_of={5: 41, 6: 1}))
    assert [(row["kind"], row["ledger_id"], row["entry_id"]) for row in found] == [
        ("entry", 5, 0),
        ("ledgers_map", -1, -2),
    ]
    assert (found[1]["length"], found[1]["payload"], found[1]["problem"]) == (None, None, None)


def test_scoped_logs_have_both_halves_and_digests_by_their_own_flags() -> None:
    records = [record(SCOPED_LEDGER, 0, b"scoped")]
    found = rows_of(log_of(records, map_of={SCOPED_LEDGER: len(records[0])}, scoped=True), scoped=True)
    assert [(row["kind"], row["scope_id"], row["ledger_id"]) for row in found] == [
        ("entry", 3, 7),
        ("ledgers_map", 0, -1),
    ]
    assert (found[0]["payload"], found[0]["length"]) == (b"scoped", 6)


def test_the_hidden_part_of_a_direct_log_is_filler() -> None:
    found = rows_of(direct_log_of([[record(5, 0, b"x")]]))
    assert [row["kind"] for row in found] == ["filler", "entry"]


def test_records_that_are_no_entries_are_problems_among_the_others() -> None:
    short = record_length.build(10) + b"0123456789"
    odd = bytearray(record(5, 1, b"odd"))
    odd[4] = 0x80
    found = rows_of(log_of([record(5, 0, b"x"), short, bytes(odd), record(5, 2, b"y")]))
    assert [row["kind"] for row in found] == ["entry", "problem", "problem", "entry"]
    assert found[1]["problem"] == "a record of 10 bytes is too short for an entry"
    assert "no entry has such ids" in found[2]["problem"]
    assert (found[1]["ledger_id"], found[1]["payload"], found[2]["length"]) == (None, None, None)
    assert found[3]["payload"] == b"y"


def test_an_entry_without_room_for_its_digest_has_no_payload() -> None:
    entry = record(5, 0, b"")[4:-2]
    found = rows_of(header() + record_length.build(len(entry)) + entry)
    assert (found[0]["kind"], found[0]["payload"]) == ("entry", None)


def test_digests_are_checked() -> None:
    records = [record(5, 0, b"zero"), record(5, 1, b"one")[:-1] + b"x", record(5, 2, b"")]
    found = rows_of(log_of(records, map_of={5: 1}))
    assert [row["digest_ok"] for row in found] == [True, False, True, None]


def test_digests_of_scoped_entries_are_of_the_type_that_each_says() -> None:
    sealed = {
        kind: EntryDigest(kind, b"secret").seal(SCOPED_LEDGER, 0, -1, 1, b"x")
        for kind in (DigestType.CRC32, DigestType.MAC, DigestType.DUMMY)
    }
    found = rows_of(
        log_of([record_length.build(len(each)) + each for each in sealed.values()], scoped=True), scoped=True
    )
    assert [row["digest_ok"] for row in found] == [True, None, True]
    assert [row["payload"] for row in found] == [b"x"] * 3


def test_a_problem_is_a_row() -> None:
    found = rows_of(log_of([record(5, 0, b"x")])[:-1])
    assert (found[0]["kind"], found[0]["ledger_id"], found[0]["offset"]) == ("problem", None, 1024)
    assert "cut off" in found[0]["problem"]


@pytest.mark.parametrize(("rows_max", "bytes_max", "counts"), [(3, 1 << 20, [3, 3, 1]), (100, 250, [2, 2, 2, 1])])
def test_batches_are_bounded(rows_max: int, bytes_max: int, counts: list[int]) -> None:
    log = log_of([record(5, entry_id, b"x" * 60) for entry_id in range(7)])
    batches = batches_of(log, False, rows_max, bytes_max)
    assert [batch.num_rows for batch in batches] == counts
    assert [row["entry_id"] for batch in batches for row in batch.to_pylist()] == list(range(7))


def test_an_entry_larger_than_a_batch_is_one_of_its_own() -> None:
    log = log_of([record(5, 0, b"x"), record(5, 1, b"x" * 500), record(5, 2, b"x")])
    assert [batch.num_rows for batch in batches_of(log, False, 100, 200)] == [1, 1, 1]


def test_columns_are_as_declared_and_in_the_order_asked_for() -> None:
    log = log_of([record(5, 0, b"x")], map_of={5: 41})
    records = next(each for each in scan(reader(log), len(log)) if isinstance(each, Records))
    columns = LogColumns("a", None, False, DigestType.CRC32C)
    for found in (*columns.batches(records, ALL, 10, 1000), columns.problem(Problem(0, 1, "text"), ALL)):
        assert found.schema == EVERY_COLUMN
    (narrow,) = columns.batches(records, ["entry_id", "kind"], 10, 1000)
    assert narrow.schema.names == ["entry_id", "kind"]

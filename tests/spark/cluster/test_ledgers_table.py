"""Rows of ledgers, and batches of rows."""

from typing import Any

import pyarrow as pa
import pytest
from attrs import evolve

from bookkeeper_tx.errors import InvalidConfig, MetadataCorrupt
from bookkeeper_tx.model import DigestType, Fragment, LedgerId, LedgerMetadata, Versioned
from bookkeeper_tx.spark.cluster import bookies_table, ledgers_table
from bookkeeper_tx.spark.cluster.ledgers_table import COLUMNS, CTIME_MAX_MS, LedgersTable, row_of
from bookkeeper_tx.spark.entrylog import columns as entrylog_columns
from bookkeeper_tx.spark.replicas import table
from bookkeeper_tx.spark.table_rows import ROW_SIZE, Row, batches_of
from bookkeeper_tx.spark.table_schema import spark_schema, wanted_columns

METADATA = LedgerMetadata(
    3,
    2,
    2,
    [Fragment(0, ["a:1", "b:1", "c:1"]), Fragment(7, ["a:1", "b:1", "d:1"])],
    DigestType.CRC32C,
    custom_metadata={"app": b"\x00\xff"},
    ctime_ms=1_700_000_000_123,
).with_close(9, 1000)


def shown(ledger_id: int, found: Any) -> dict[str, Any]:
    (batch,) = batches_of([row_of(ledger_id, found)], COLUMNS, COLUMNS.names, 10)
    assert batch.schema == COLUMNS
    (row,) = batch.to_pylist()
    return dict(row)


def test_a_closed_ledger() -> None:
    row = shown(LedgerId(5, 7), Versioned(METADATA, 4))
    assert (row["scope_id"], row["ledger_id"], row["metadata_version"]) == (7, 5, 4)
    assert (row["state"], row["last_entry_id"], row["length"], row["digest_type"]) == ("closed", 9, 1000, "crc32c")
    assert row["custom_metadata"] == [("app", b"\x00\xff")]
    assert row["fragments"][1] == {"first_entry_id": 7, "ensemble": ["a:1", "b:1", "d:1"]}
    assert row["ctime"].timestamp() == pytest.approx(1_700_000_000.123)
    assert row["problem"] is None


def test_an_open_ledger_has_no_end() -> None:
    row = shown(1, Versioned(evolve(METADATA, state=METADATA.state.OPEN, digest_type=None, ctime_ms=None), 0))
    assert (row["state"], row["last_entry_id"], row["length"], row["digest_type"], row["ctime"]) == (
        "open",
        *[None] * 4,
    )


def test_metadata_that_cannot_be_understood_is_a_problem() -> None:
    row = shown(1, MetadataCorrupt("garbage"))
    assert (row["ledger_id"], row["state"], row["fragments"], row["problem"]) == (1, None, None, "garbage")


@pytest.mark.parametrize("ctime_ms", [-1, CTIME_MAX_MS, 2**63 - 1])
def test_a_time_that_is_none_is_not_shown(ctime_ms: int) -> None:
    assert shown(1, Versioned(evolve(METADATA, ctime_ms=ctime_ms), 0))["ctime"] is None


def test_batches_are_bounded_in_rows_and_bytes() -> None:
    columns = pa.schema([("a", pa.int64())])
    rows = [Row({"a": number}, 100) for number in range(5)]
    assert [each.num_rows for each in batches_of(rows, columns, ["a"], 2)] == [2, 2, 1]
    assert [each.num_rows for each in batches_of(rows, columns, ["a"], 100, 3 * (ROW_SIZE + 100))] == [3, 2]
    assert [each.num_rows for each in batches_of(rows, columns, ["a"], 100, 10)] == [1] * 5
    assert list(batches_of([], columns, ["a"], 2)) == []


@pytest.mark.parametrize(
    "columns",
    [
        ledgers_table.COLUMNS,
        bookies_table.COLUMNS,
        table.RANGES,
        table.ENTRIES,
        entrylog_columns.EVERY_COLUMN,
    ],
)
def test_spark_asks_for_the_columns_that_are_declared(columns: pa.Schema) -> None:
    assert wanted_columns(columns, spark_schema(columns)) == columns.names


def test_a_query_may_ask_for_fewer_columns_but_not_for_others() -> None:
    some = pa.schema([COLUMNS.field("state"), COLUMNS.field("ledger_id")])
    assert wanted_columns(COLUMNS, spark_schema(some)) == ["state", "ledger_id"]
    with pytest.raises(InvalidConfig, match="column other"):
        wanted_columns(COLUMNS, spark_schema(pa.schema([("other", pa.int64())])))
    with pytest.raises(InvalidConfig, match="state as int64"):
        wanted_columns(COLUMNS, spark_schema(pa.schema([("state", pa.int64())])))


def test_options_are_checked_when_the_table_is_loaded() -> None:
    with pytest.raises(InvalidConfig, match="metadataServiceUri"):
        LedgersTable({}).schema()

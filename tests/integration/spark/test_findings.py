"""Findings of scrub about bookies that fail in other ways than real ones can be made to."""

from typing import Any

import pyarrow as pa
import pytest

from bookkeeper_tx.errors import NoSuchEntry, StorageFailed, Unauthorized
from bookkeeper_tx.spark.jobs import replica_findings as findings
from bookkeeper_tx.spark.replicas.table import ENTRIES, RANGES
from bookkeeper_tx.spark.table_schema import spark_schema
from tests.spark.replicas.kept_copies import KeptCluster
from tests.spark.replicas.test_rows import CLOSED, COUNT, rows_of, three

pytestmark = pytest.mark.spark


def found(spark: Any, cluster: KeptCluster) -> list[tuple[Any, ...]]:
    """Return kind, bookie, first and last entry of the findings about single bookies."""
    parts = frame(spark, rows_of(cluster, CLOSED), RANGES)
    entries = frame(spark, rows_of(cluster, CLOSED, perEntry="true"), ENTRIES)
    suspicious = findings.suspicious_parts(parts)
    both = findings.findings_of_parts(parts, suspicious).unionByName(findings.findings_of_entries(entries, suspicious))
    rows = both.where("bookie IS NOT NULL").orderBy("bookie", "first_entry").collect()
    return [(row.kind, row.bookie, row.first_entry, row.last_entry) for row in rows]


def frame(spark: Any, rows: list[dict[str, Any]], columns: pa.Schema) -> Any:
    return spark.createDataFrame([tuple(row[name] for name in columns.names) for row in rows], spark_schema(columns))


def test_a_disk_that_fails_is_told_from_a_bookie_that_cannot_be_reached(spark: Any) -> None:
    whole = three()
    whole.bookies["a"].entries.clear()
    whole.bookies["a"].other = StorageFailed("bad sector")
    whole.bookies["b"].reachable = False
    assert found(spark, whole) == [("storage-failed", "a", 0, COUNT - 1), ("unreachable", "b", 0, COUNT - 1)]
    one = three()
    one.bookies["a"].entries[4] = StorageFailed("bad sector")
    one.bookies["b"].entries.clear()
    one.bookies["b"].other = Unauthorized("wrong password")
    assert found(spark, one) == [
        ("storage-failed", "a", 4, 4),
        # As a finding says how many good copies there are, the entry with fewer is one of its own.
        ("unreachable", "b", 0, 3),
        ("unreachable", "b", 4, 4),
        ("unreachable", "b", 5, COUNT - 1),
    ]


def test_lost_entries_and_a_disk_that_fails_are_both_said_of_one_bookie(spark: Any) -> None:
    cluster = three()
    for entry_id in range(COUNT):
        cluster.bookies["a"].entries[entry_id] = StorageFailed("bad sector") if entry_id < 4 else NoSuchEntry()
    assert found(spark, cluster) == [("storage-failed", "a", 0, 3), ("missing", "a", 4, COUNT - 1)]

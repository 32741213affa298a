"""Table ``replicas``: the entries of each ledger that each bookie really has (docs/guides/spark-tables.md)."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition

from bookkeeper_tx.spark.options.metadata_store import open_store
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import read_password
from bookkeeper_tx.spark.plan.filters import EntryFilter, push
from bookkeeper_tx.spark.plan.ledger_chunks import choose_ledgers
from bookkeeper_tx.spark.plan.planning import filters_can_be_pushed
from bookkeeper_tx.spark.replicas.plan import ReplicasInput, plan
from bookkeeper_tx.spark.replicas.rows import read_task
from bookkeeper_tx.spark.table_rows import batches_of
from bookkeeper_tx.spark.table_schema import spark_schema, wanted_columns

_LEDGER: Final = [("scope_id", pa.int64()), ("ledger_id", pa.int64())]
_QUORUMS: Final = [
    ("closed", pa.bool_()),
    ("write_quorum_size", pa.int32()),
    ("ack_quorum_size", pa.int32()),
    ("bookie", pa.string()),
]
_RANGE: Final = pa.struct([("first", pa.int64()), ("last", pa.int64())])

RANGES: Final = pa.schema(
    [
        *_LEDGER,
        ("first_entry", pa.int64()),
        ("last_entry", pa.int64()),
        ("stripe", pa.int32()),
        ("stripes", pa.int32()),
        *_QUORUMS,
        ("expected", pa.int64()),
        ("present", pa.int64()),
        ("missing", pa.int64()),
        ("corrupt", pa.int64()),
        ("storage_failed", pa.int64()),
        ("unknown", pa.int64()),
        ("verdict", pa.string()),
        ("missing_ranges", pa.list_(_RANGE)),
        ("corrupt_entries", pa.list_(pa.int64())),
        ("bytes", pa.int64()),
        ("sha256", pa.string()),
        ("error", pa.string()),
    ]
)
"""A row for each part of a ledger on each of its bookies."""

ENTRIES: Final = pa.schema(
    [
        *_LEDGER,
        ("entry_id", pa.int64()),
        *_QUORUMS,
        ("present", pa.bool_()),
        ("storage_failed", pa.bool_()),
        ("digest_ok", pa.bool_()),
        ("payload_bytes", pa.int64()),
        ("last_add_confirmed", pa.int64()),
        ("length", pa.int64()),
        ("sha256", pa.string()),
        ("error", pa.string()),
    ]
)
"""With ``perEntry``: a row for each copy of each entry."""


class ReplicasTable(DataSource):
    """Every replica of every entry, read from the bookie that should have it."""

    @classmethod
    def name(cls) -> str:
        return "bookkeeper-replicas"

    def schema(self) -> Any:
        return spark_schema(_columns(Options.from_spark(self.options, Use.REPLICAS)))

    def reader(self, schema: Any) -> DataSourceReader:
        options = Options.from_spark(self.options, Use.REPLICAS)
        kind = FilteringReplicasReader if options.pushdown and filters_can_be_pushed() else ReplicasReader
        return kind(options, wanted_columns(_columns(options), schema))


def _columns(options: Options) -> pa.Schema:
    return ENTRIES if options.per_entry else RANGES


class ReplicasReader(DataSourceReader):
    """Lists ids where the query is planned; tasks read metadata and entries."""

    def __init__(self, options: Options, names: list[str]) -> None:
        self._options = options
        self._names = names
        self._wanted = EntryFilter()

    def partitions(self) -> list[InputPartition]:
        password = read_password(self._options)
        with open_store(self._options) as store:
            tasks = plan(store, choose_ledgers(store, self._options, self._wanted), self._options)
        return [ReplicasInput(task, self._wanted.entry_id, password) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Give the rows of a task."""
        if partition.value is None:  # without any partition Spark runs one task, with an empty one
            return
        task, entry_ids, password = partition.value
        rows = read_task(task, entry_ids, password, self._options)
        yield from batches_of(rows, _columns(self._options), self._names, self._options.batch_rows)


class FilteringReplicasReader(ReplicasReader):
    """Reads only the ledgers, and with ``perEntry`` the entries, that filters want."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self._wanted, _ = push(filters)
        return filters  # Spark applies them once more: a row about a whole ledger has no entry id

"""Table ``ledgers``: the metadata of every ledger (docs/guides/spark-tables.md)."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import LedgerId, LedgerMetadata, Versioned
from bookkeeper_tx.spark.entries.partition_reader import freeze_once
from bookkeeper_tx.spark.options.metadata_store import open_store
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.plan.filters import EntryFilter, push
from bookkeeper_tx.spark.plan.ledger_chunks import ChunkInput, choose_ledgers, read_chunk
from bookkeeper_tx.spark.plan.planning import filters_can_be_pushed
from bookkeeper_tx.spark.table_rows import Row, batches_of
from bookkeeper_tx.spark.table_schema import TIME, spark_schema, wanted_columns

FRAGMENT: Final = pa.struct([("first_entry_id", pa.int64()), ("ensemble", pa.list_(pa.string()))])

COLUMNS: Final = pa.schema(
    [
        ("scope_id", pa.int64()),
        ("ledger_id", pa.int64()),
        ("state", pa.string()),
        ("ensemble_size", pa.int32()),
        ("write_quorum_size", pa.int32()),
        ("ack_quorum_size", pa.int32()),
        ("digest_type", pa.string()),
        ("last_entry_id", pa.int64()),
        ("length", pa.int64()),
        ("ctime", TIME),
        ("format_version", pa.int32()),
        ("metadata_version", pa.int64()),
        ("custom_metadata", pa.map_(pa.string(), pa.binary())),
        ("fragments", pa.list_(FRAGMENT)),
        ("problem", pa.string()),
    ]
)

CHUNK_MAX: Final = 5000
"""Ledgers of one task: less than a second of pipelined gets."""

CTIME_MAX_MS: Final = 253_402_300_800_000
"""The year 10000, where Spark's times end."""


class LedgersTable(DataSource):
    """A row for each ledger."""

    @classmethod
    def name(cls) -> str:
        return "bookkeeper-ledgers"

    def schema(self) -> Any:
        Options.from_spark(self.options, Use.LEDGERS)
        return spark_schema(COLUMNS)

    def reader(self, schema: Any) -> DataSourceReader:
        options = Options.from_spark(self.options, Use.LEDGERS)
        kind = FilteringLedgersReader if options.pushdown and filters_can_be_pushed() else LedgersReader
        return kind(options, wanted_columns(COLUMNS, schema))


class LedgersReader(DataSourceReader):
    """Lists ids where the query is planned; tasks read the metadata."""

    def __init__(self, options: Options, names: list[str]) -> None:
        self._options = options
        self._names = names
        self._wanted = EntryFilter()

    def partitions(self) -> list[InputPartition]:
        with open_store(self._options) as store:
            chosen = choose_ledgers(store, self._options, self._wanted)
        return [ChunkInput(chunk) for chunk in chosen.chunks(CHUNK_MAX, self._options.min_partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Give the rows of a task's ledgers."""
        options, chunk = self._options, partition.value
        if chunk is None:  # without any partition Spark runs one task, with an empty one
            return
        freeze_once()
        with open_store(options) as store:
            rows = (row_of(ledger_id, found) for ledger_id, found in read_chunk(store, chunk, options))
            yield from batches_of(rows, COLUMNS, self._names, options.batch_rows)


class FilteringLedgersReader(LedgersReader):
    """Leaves out ledgers that a filter on ``ledger_id`` does not want."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self._wanted, _ = push(each for each in filters if getattr(each, "attribute", None) == ("ledger_id",))
        return filters


def row_of(ledger_id: int, found: Versioned | BookKeeperError) -> Row:
    """Return the row of a ledger; if its metadata cannot be read, the row has its ids and a problem."""
    scope_id, lower = LedgerId(ledger_id).scope_id, LedgerId(ledger_id).ledger_id
    ids = {"scope_id": scope_id, "ledger_id": lower}
    if not isinstance(found, Versioned):
        return Row({**ids, "problem": str(found)}, len(str(found)))
    metadata = found.metadata
    values = {
        **ids,
        "state": metadata.state.name.lower(),
        "ensemble_size": metadata.ensemble_size,
        "write_quorum_size": metadata.write_quorum_size,
        "ack_quorum_size": metadata.ack_quorum_size,
        "digest_type": metadata.digest_type and metadata.digest_type.name.lower(),
        "last_entry_id": metadata.last_entry_id if metadata.closed else None,
        "length": metadata.length if metadata.closed else None,
        "ctime": _ctime(metadata.ctime_ms),
        "format_version": metadata.format_version,
        "metadata_version": found.version,
        "custom_metadata": list(metadata.custom_metadata.items()),
        "fragments": [
            {"first_entry_id": fragment.first_entry_id, "ensemble": list(fragment.ensemble)}
            for fragment in metadata.fragments
        ],
    }
    return Row(values, _size(metadata))


def _ctime(ctime_ms: int | None) -> int | None:
    """Return the time in microseconds; None for one that Spark cannot show."""
    return None if ctime_ms is None or not 0 <= ctime_ms < CTIME_MAX_MS else ctime_ms * 1000


def _size(metadata: LedgerMetadata) -> int:
    custom = sum(len(key) + len(value) for key, value in metadata.custom_metadata.items())
    return custom + sum(8 + sum(map(len, fragment.ensemble)) for fragment in metadata.fragments)

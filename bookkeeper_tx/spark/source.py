"""Table ``entries``: entries of ledgers as rows, and rows as entries (docs/guides/spark.md)."""

from contextlib import suppress
from typing import Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.spark.entries.columns import COLUMNS, included_columns
from bookkeeper_tx.spark.entries.source_reader import FilteringLedgerReader, LedgerBatchReader
from bookkeeper_tx.spark.options.advice import advised
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import read_password
from bookkeeper_tx.spark.plan.ledger_ranges import Snapshot, check_scopes, recovered, take_snapshot
from bookkeeper_tx.spark.plan.planning import filters_can_be_pushed
from bookkeeper_tx.spark.table_schema import spark_schema, wanted_columns


class LedgerSource(DataSource):
    """Reads and writes ledgers.

    Spark makes one for each ``load`` and sends it, pickled, to the process that plans queries.  The source takes a
    snapshot before that, and all actions on the DataFrame read this snapshot.
    """

    _snapshot: Snapshot | None = None
    _planned = False
    """Whether a reader was made: the snapshot is not needed any more."""

    @classmethod
    def name(cls) -> str:
        return "bookkeeper-entries"

    @property
    def snapshot(self) -> Snapshot:
        """The ledgers as they were when this property was first read."""
        if self._snapshot is None:
            options = Options.from_spark(self.options, Use.ENTRIES)
            with advised():
                self._snapshot = take_snapshot(options, read_password(options))
        return self._snapshot

    def schema(self) -> StructType:
        columns = included_columns(Options.from_spark(self.options, Use.ENTRIES))
        check_scopes(self.snapshot, "scope_id" in columns.names)
        return spark_schema(columns)

    def __getstate__(self) -> dict[str, Any]:
        """Take the snapshot along, also if the user gave a schema, so that Spark has not asked for ours.

        Spark pickles the source of a sink, too, and its options are not those of a read.  Wrong options raise when a
        reader or writer is made of them.
        """
        snapshot = None
        if not self._planned and "sinkId" not in self.options:
            with suppress(InvalidConfig):
                snapshot = self.snapshot
        return {"options": self.options, "_snapshot": snapshot}

    def reader(self, schema: StructType) -> DataSourceReader:
        options = Options.from_spark(self.options, Use.READ)
        self._check_columns(schema)
        shown = FilteringLedgerReader if options.pushdown and filters_can_be_pushed() else LedgerBatchReader
        snapshot = self.snapshot
        snapshot.check_lost(options)
        if options.allow_recovery:
            # Only here is it known that this is no stream, which never recovers.
            with advised():
                snapshot = recovered(snapshot, options, read_password(options))
        self._planned = True
        return shown(options, snapshot, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from bookkeeper_tx.spark.stream.reader import make_stream_reader

        options = Options.from_spark(self.options, Use.STREAM)
        self._check_columns(schema)
        self._planned = True
        return make_stream_reader(options, self.snapshot, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from bookkeeper_tx.spark.sink.sink import make_writer

        return make_writer(Options.from_spark(self.options, Use.WRITE), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from bookkeeper_tx.spark.sink.sink import make_stream_writer

        return make_stream_writer(Options.from_spark(self.options, Use.STREAM_WRITE), schema, overwrite)

    def _check_columns(self, schema: StructType) -> None:
        names = wanted_columns(COLUMNS, schema)
        check_scopes(self.snapshot, "scope_id" in names)

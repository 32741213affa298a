"""Planning a batch read of ledgers, and reading one part of it in a task."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from bookkeeper_tx.model import BookieId, BookieServiceInfo
from bookkeeper_tx.spark.entries.partition_reader import read_ranges
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import Secret, read_password
from bookkeeper_tx.spark.plan.filters import EntryFilter, push
from bookkeeper_tx.spark.plan.ledger_ranges import Snapshot, wanted_ranges
from bookkeeper_tx.spark.plan.partitions import partition
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange


class LedgerPartition(InputPartition):
    """The ranges that one task reads, with all that it needs to ask bookies only, unless entries are missing."""

    def __init__(
        self, ranges: list[LedgerRange], bookies: Mapping[BookieId, BookieServiceInfo], password: Secret
    ) -> None:
        super().__init__(None)
        self.ranges = ranges
        self.bookies = bookies
        """The bookies of these ranges."""
        self.password = password


def ledger_partition(
    ranges: list[LedgerRange], bookies: Mapping[BookieId, BookieServiceInfo], password: Secret
) -> LedgerPartition:
    """Return the partition of ``ranges``, with those of the bookies that it needs."""
    needed = {bookie for each in ranges for fragment in each.fragments for bookie in fragment.ensemble}
    return LedgerPartition(ranges, {each: bookies[each] for each in needed if each in bookies}, password)


class LedgerBatchReader(DataSourceReader):
    """Plans and reads; the snapshot stays in the process that plans the query."""

    def __init__(self, options: Options, snapshot: Snapshot, schema: StructType) -> None:
        self._options = options
        self._snapshot: Snapshot | None = snapshot
        self._schema: pa.Schema = to_arrow_schema(schema, timezone="UTC")
        self._wanted = EntryFilter()

    def partitions(self) -> list[InputPartition]:
        """Return the partition of each task; this reads no entry."""
        assert self._snapshot is not None, "partitions are planned before the reader is sent to the tasks"
        options = self._options
        parts = partition(
            wanted_ranges(self._snapshot, options, self._wanted),
            options.max_entries_per_partition,
            options.max_bytes_per_partition,
            options.min_partitions,
        )
        password = read_password(options)
        return [ledger_partition(ranges, self._snapshot.bookies, password) for ranges in parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the entries of one partition, in the order of its ranges."""
        if not isinstance(partition, LedgerPartition):
            # Without any partition Spark runs one task, with an empty one.
            return iter(())
        return read_ranges(partition.ranges, partition.bookies, partition.password, self._options, self._schema)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the snapshot of all ledgers, which tasks do not need."""
        return {**self.__dict__, "_snapshot": None}


class FilteringLedgerReader(LedgerBatchReader):
    """A reader that takes filters; :mod:`bookkeeper_tx.spark.plan.planning` says when Spark must not see it."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self._wanted, rest = push(filters)
        return rest

"""Table ``entries`` as a stream: the reader that Spark calls while a query runs (docs/guides/spark-streaming.md)."""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from attrs import frozen
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from bookkeeper_tx.errors import InvalidArgument, InvalidConfig
from bookkeeper_tx.spark.entries.partition_reader import read_ranges
from bookkeeper_tx.spark.entries.source_reader import LedgerPartition
from bookkeeper_tx.spark.options.offsets import Edge, Offsets
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import read_password
from bookkeeper_tx.spark.plan.ledger_ranges import Snapshot
from bookkeeper_tx.spark.stream.cluster import StreamCluster
from bookkeeper_tx.spark.stream.ends import OpenEnds
from bookkeeper_tx.spark.stream.ledgers import View, clipped
from bookkeeper_tx.spark.stream.offsets import StreamOffset
from bookkeeper_tx.spark.stream.planning import NO_LIMIT, LedgerEnd, Limit, entries_between, first_offset, plan_end

log = logging.getLogger(__name__)

OFFSETS_KEPT = 3
"""Parsed offsets that are remembered.  Spark hands over each several times, for an idle stream ten times a second;
their texts are long if there are many gaps in the ids of the ledgers."""

LOOK_INTERVAL_S = 0.1
"""How long the cluster is left alone after a look that found nothing: Spark asks again within 10 ms."""


@frozen
class Beginning:
    """Where a stream without a checkpoint begins: options, and the ledgers as they were when the stream was defined."""

    offsets: Offsets
    known: tuple[LedgerEnd, ...]
    check_lost: Callable[[], None] = lambda: None
    """Raises if a ledger was lost by then: a stream without a checkpoint needs it, another may have finished it."""

    def offset(self) -> StreamOffset:
        self.check_lost()
        return first_offset(self.known, self.offsets)


class LedgerStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans and reads a stream for Spark.

    In the process that plans micro-batches it looks at the cluster; a task has a copy that only reads.
    """

    def __init__(
        self,
        options: Options,
        beginning: Beginning,
        cluster: StreamCluster,
        schema: "pa.Schema",
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._options = options
        self._beginning = beginning
        self._cluster = cluster
        self._schema = schema
        self._clock = clock
        self._sleep = sleep
        self._target: View | None = None
        """With Trigger.AvailableNow: the ledgers when the query was started."""
        self._left: View | None = None
        """The part of it that the stream had not read when the first batch was planned."""
        self._planned: tuple[StreamOffset, View] | None = None
        """The end of the last batch, and the ledgers when it was planned."""
        self._idle_since_s: float | None = None
        self._parsed: deque[tuple[dict[str, Any], StreamOffset]] = deque(maxlen=OFFSETS_KEPT)

    def initialOffset(self) -> dict[str, Any]:
        """Return the first offset of a stream without a checkpoint; the same at every call."""
        return self._beginning.offset().to_json()

    def getDefaultReadLimit(self) -> ReadLimit:
        if self._options.max_entries_per_trigger is not None:
            return ReadMaxRows(self._options.max_entries_per_trigger)
        if self._options.max_bytes_per_trigger is not None:
            return ReadMaxBytes(self._options.max_bytes_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Remember the ledgers and their ends: this query reads no entry that is added later."""
        self._target = self._cluster.look_at_all()
        self._left = None

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the end of the batch that begins at ``start``; ``start`` itself if there is nothing to do."""
        offset = self._offset(start)
        view = self._view(offset)
        end = plan_end(offset, view.ledgers, _limit(limit), view.passed)
        self._planned = end, view
        self._idle_since_s = self._clock() if end is offset else None
        if end is offset:
            return start
        shown = end.to_json()
        self._parsed.append((shown, end))
        return shown

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Return the offset after all entries that existed when the last batch was planned.

        It never raises: Spark would end the query.
        """
        try:
            if self._planned is None:
                return None
            end, view = self._planned
            return plan_end(end, view.ledgers, NO_LIMIT, view.passed).to_json()
        except Exception:
            log.exception("the latest offset cannot be told")
            return None

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the partitions of a batch: the same rows at every call, in any process."""
        entries = entries_between(self._offset(start), self._offset(end))
        return self._cluster.partitions(entries) if entries else []

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, LedgerPartition)
        return read_ranges(partition.ranges, partition.bookies, partition.password, self._options, self._schema)

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: the offsets have the whole state of the stream."""

    def stop(self) -> None:
        self._cluster.close()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the state of the cluster, which tasks do not need."""
        return {"_options": self._options, "_schema": self._schema}

    def _offset(self, value: dict[str, Any]) -> StreamOffset:
        """Return the offset that Spark hands over."""
        for shown, offset in self._parsed:
            if shown == value:
                return offset
        offset = StreamOffset.of_json(value)
        self._parsed.append((value, offset))
        return offset

    def _view(self, start: StreamOffset) -> View:
        if self._target is None:
            self._rest()
            return self._cluster.look(start)
        if self._left is None:
            self._left = clipped(self._cluster.look(start), self._target, start)
        return self._left

    def _rest(self) -> None:
        """Wait a little if the last look found nothing."""
        if self._idle_since_s is not None:
            left_s = self._idle_since_s + LOOK_INTERVAL_S - self._clock()
            if left_s > 0:
                self._sleep(left_s)


def make_stream_reader(options: Options, snapshot: Snapshot, schema: StructType) -> LedgerStreamReader:
    """Return the reader of a stream; ``snapshot`` has the ledgers as they were when the stream was defined.

    This does not ask the cluster.  Raises InvalidConfig if rows of ledgers that may appear would be indistinguishable.
    """
    if options.scope is None and "scope_id" not in schema.names:
        raise InvalidConfig(
            "option scope=all: ledgers of any scope may appear in the stream, and ledger_id is only the lower half of "
            "their ids: give includeScope=true"
        )
    known = tuple(LedgerEnd(each.ledger_id, each.end, each.closed) for each in snapshot.ledgers)
    offsets = options.starting_offsets or Offsets(Edge.LATEST)
    beginning = Beginning(offsets, known, partial(snapshot.check_lost, options))
    password = read_password(options)
    cluster = StreamCluster(options, password, OpenEnds(options, password))
    return LedgerStreamReader(options, beginning, cluster, to_arrow_schema(schema, timezone="UTC"))


def _limit(limit: ReadLimit) -> Limit:
    if isinstance(limit, ReadAllAvailable):
        return NO_LIMIT
    if isinstance(limit, ReadMaxRows):
        return Limit(entries=limit.max_rows)
    if isinstance(limit, ReadMaxBytes):
        return Limit(bytes=limit.max_bytes)
    raise InvalidArgument(f"Spark asks for {limit!r}; give maxEntriesPerTrigger or maxBytesPerTrigger, or neither")

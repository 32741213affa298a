"""A task of the sink: it writes the rows of its partition, in their order, to ledgers of its own.

Readers of the manifest see none of them until the driver publishes (:mod:`bookkeeper_tx.spark.sink.commit`).
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy
import pyarrow as pa
from attrs import evolve, frozen
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage
from pyspark.sql.types import BinaryType, StructType

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.metadata.blocking.store import BlockingStore, open_blocking_store
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.spark.bookies.rate_limit import RateLimit
from bookkeeper_tx.spark.options.advice import advised
from bookkeeper_tx.spark.options.secret import Secret
from bookkeeper_tx.spark.sink.manifest import EpochKey, PublishedLedger, published
from bookkeeper_tx.spark.sink.mark import SinkMark
from bookkeeper_tx.spark.writing.ledger_sequence import LedgerPlan, LedgerSequence

PAYLOAD = "payload"
IGNORED = frozenset({"ledger_id", "entry_id", "scope_id", "lac", "length", "digest_ok", "bookie", "lost"})
"""Columns of the source, so that rows from a read can be written unchanged: a sink gives ids of its own."""


@frozen(kw_only=True)
class SinkPlan:
    """The settings of a write, for driver and tasks; it is pickled."""

    uri: str
    metadata_timeout_s: float
    sink_id: str
    payload_index: int
    sizes: tuple[int, int, int]
    """Ensemble, write quorum, ack quorum."""
    digest_type: DigestType
    password: Secret
    config: ClientConfig
    ledger_bytes_max: int | None
    ledger_entries_max: int | None
    limits: RateLimit | None = None
    """How fast a task writes to a bookie."""

    def open_store(self) -> BlockingStore:
        with advised():
            return open_blocking_store(self.uri, self.metadata_timeout_s, self.config.metadata_security)


@frozen
class EpochMessage(WriterCommitMessage):
    """The message of a task to the driver."""

    key: EpochKey
    partition: int
    ledgers: tuple[PublishedLedger, ...]


def payload_index(schema: StructType) -> int:
    """Return the index of the payload in rows of ``schema``; raises InvalidArgument for rows that are no entries."""
    names = schema.fieldNames()
    if PAYLOAD not in names:
        raise InvalidArgument(
            f"there is no column {PAYLOAD!r} among {', '.join(names) or 'no columns'}: "
            "an entry is a binary payload; make one, as .select(to_json(struct('*')).cast('binary').alias('payload'))"
        )
    index = names.index(PAYLOAD)
    found = schema.fields[index].dataType
    if not isinstance(found, BinaryType):
        raise InvalidArgument(
            f"column payload is of type {found.simpleString()}, entries are binary: "
            ".withColumn('payload', col('payload').cast('binary'))"
        )
    others = [name for name in names if name != PAYLOAD and name not in IGNORED]
    if others:
        raise InvalidArgument(
            f"columns {', '.join(others)} have no place in an entry: .select('payload'), or put them into the payload"
        )
    return index


def write_partition(plan: SinkPlan, key: EpochKey, rows: "Iterator[pa.RecordBatch]") -> EpochMessage:
    """Write the payloads of ``rows`` to new ledgers, and close them; without rows there is no ledger.

    For an epoch that is published already nothing is written: the ledgers of this attempt would only be deleted.
    """
    context = TaskContext.get()
    assert context is not None
    mark = SinkMark(plan.sink_id, key, context.partitionId(), context.attemptNumber(), context.taskAttemptId())
    batches = (batch for batch in rows if batch.num_rows)
    first = next(batches, None)
    if first is None:
        return EpochMessage(key, mark.partition, ())
    with plan.open_store() as store:
        if published(store, plan.sink_id, key) is not None:
            for _ in batches:
                pass
            return EpochMessage(key, mark.partition, ())
        with advised():
            return EpochMessage(key, mark.partition, _write(store, plan, mark, first, batches))


def _write(
    store: BlockingStore,
    plan: SinkPlan,
    mark: SinkMark,
    first: "pa.RecordBatch",
    batches: "Iterator[pa.RecordBatch]",
) -> tuple[PublishedLedger, ...]:
    ledgers = LedgerPlan(
        quorum=Quorum(*plan.sizes),
        digest_type=plan.digest_type,
        password=plan.password.value,
        custom_metadata=mark.to_custom_metadata(),
        ledger_bytes_max=plan.ledger_bytes_max,
        ledger_entries_max=plan.ledger_entries_max,
        limits=plan.limits,
    )
    with LedgerSequence(store, ledgers, evolve(plan.config)) as sequence:
        sequence.append_many(payloads_of(first.column(plan.payload_index)))
        for batch in batches:
            sequence.append_many(payloads_of(batch.column(plan.payload_index)))
        written = sequence.close()
    return tuple(PublishedLedger(each.ledger_id, each.last_entry_id, each.length) for each in written)


def payloads_of(column: "pa.Array") -> list[bytes]:
    """Return the values of a binary column; raises InvalidArgument if one is null."""
    if column.null_count:
        raise InvalidArgument(
            f"payload is null in {column.null_count} rows, and an entry cannot be: .where('payload is not null')"
        )
    if not (pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)) or not len(column):
        return [bytes(value) for value in column.to_pylist()]
    _, offsets, values = column.buffers()
    kind = numpy.int64 if pa.types.is_large_binary(column.type) else numpy.int32
    ends = numpy.frombuffer(offsets, kind)[column.offset : column.offset + len(column) + 1]
    start, size = int(ends[0]), int(ends[1] - ends[0])
    if size and (numpy.diff(ends) == size).all():
        equal: list[bytes] = numpy.frombuffer(values, f"V{size}", len(column), start).tolist()
        return equal
    data = bytes(memoryview(values)[start : ends[-1]]) if values is not None else b""
    return [data[first:end] for first, end in pairwise((ends - start).tolist())]

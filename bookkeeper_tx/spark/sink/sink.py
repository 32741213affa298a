"""The sink of format ``bookkeeper``: rows become ledgers, and each epoch is published once or not at all.

Each attempt of a task writes ledgers of its own; the driver publishes those of the attempts that count by one document
in the metadata store (:mod:`bookkeeper_tx.spark.sink.manifest`).  Task retries, speculation, a dead executor, a dead
driver and a repeated epoch leave ledgers that are not published, for :mod:`bookkeeper_tx.spark.sink.sweep`.  A reader
of the manifest sees each row of each epoch once, in the order that it had within its partition.

A batch write is an epoch of its own.  With ``txnAppId`` and ``txnVersion`` it is always the same epoch, so that
repeating the write changes nothing; without them, each write is another epoch.

Mode ``overwrite``, and the output mode ``complete``, are refused: published ledgers stay.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from bookkeeper_tx.errors import IllegalOperation, InvalidConfig, NotEnoughBookies
from bookkeeper_tx.metadata.blocking.store import BlockingStore
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.spark.options.channels import rate_limit
from bookkeeper_tx.spark.options.client_config import client_config
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.options.secret import read_password
from bookkeeper_tx.spark.sink.commit import abort_epoch, commit_epoch
from bookkeeper_tx.spark.sink.manifest import EpochKey, check_sink_id, published
from bookkeeper_tx.spark.sink.writer import EpochMessage, SinkPlan, payload_index, write_partition

if TYPE_CHECKING:
    import pyarrow as pa

QUERY_PROPERTY = "sql.streaming.queryId"
EPOCH_PROPERTY = "streaming.sql.batchId"
"""Local properties that Spark sets on every task of a micro-batch."""


def make_writer(options: Options, schema: StructType, overwrite: bool) -> "SinkWriter":
    """Return the writer of one batch write.

    Raises InvalidConfig, InvalidArgument, IllegalOperation; NotEnoughBookies, before there is any task; and the errors
    of the metadata store.
    """
    if overwrite:
        raise IllegalOperation(
            "mode overwrite is not possible: ledgers that were published stay as they are. "
            "Write with .mode('append'), to another sinkId if readers shall see the new rows only"
        )
    plan, key = _plan(options, schema), _batch_key(options)
    with plan.open_store() as store:
        if published(store, plan.sink_id, key) is None:  # a repetition writes nothing, and needs no bookie
            _check_bookies(store, plan)
    return SinkWriter(plan, key)


def make_stream_writer(options: Options, schema: StructType, overwrite: bool) -> "SinkStreamWriter":
    """Return the writer of a streaming query.  Raises the same errors as :func:`make_writer`."""
    if overwrite:
        raise IllegalOperation(
            "output mode complete is not possible: ledgers that were published stay as they are. "
            "Take .outputMode('append') or 'update'"
        )
    plan = _plan(options, schema)
    with plan.open_store() as store:
        _check_bookies(store, plan)
    return SinkStreamWriter(plan)


class SinkWriter(DataSourceArrowWriter):
    """Writes one epoch: all of a batch write."""

    def __init__(self, plan: SinkPlan, key: EpochKey) -> None:
        self._plan = plan
        self._key = key

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        return write_partition(self._plan, self._key, iterator)

    def commit(self, messages: "Sequence[WriterCommitMessage | None]") -> None:
        commit_epoch(self._plan, self._key, _ours(messages))

    def abort(self, messages: "Sequence[WriterCommitMessage | None]") -> None:
        abort_epoch(self._plan, self._key, _ours(messages))


class SinkStreamWriter(DataSourceStreamArrowWriter):
    """Writes each micro-batch as an epoch.

    Only tasks know the query's id, and send it in their messages; a micro-batch without a task publishes nothing.
    """

    def __init__(self, plan: SinkPlan) -> None:
        self._plan = plan

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None
        query_id, epoch = context.getLocalProperty(QUERY_PROPERTY), context.getLocalProperty(EPOCH_PROPERTY)
        if query_id is None or epoch is None:
            raise IllegalOperation(
                f"Spark has not set {QUERY_PROPERTY} and {EPOCH_PROPERTY} on this task, so its rows cannot be told "
                "from a repetition: continuous processing is not supported, take a micro-batch trigger"
            )
        return write_partition(self._plan, EpochKey(query_id, int(epoch)), iterator)

    def commit(self, messages: "Sequence[WriterCommitMessage | None]", batchId: int) -> None:
        ours = _ours(messages)
        for key in _keys(ours, batchId):
            commit_epoch(self._plan, key, ours)

    def abort(self, messages: "Sequence[WriterCommitMessage | None]", batchId: int) -> None:
        ours = _ours(messages)
        for key in _keys(ours, batchId):
            abort_epoch(self._plan, key, ours)


def _ours(messages: "Sequence[WriterCommitMessage | None]") -> list[EpochMessage]:
    return [each for each in messages if isinstance(each, EpochMessage)]


def _keys(messages: Sequence[EpochMessage], epoch: int) -> set[EpochKey]:
    """Return the one key that all messages have, or none if there are no messages."""
    keys = {message.key for message in messages}
    if len(keys) > 1 or any(key.epoch != epoch for key in keys):
        raise IllegalOperation(f"Spark commits epoch {epoch} with messages of {sorted(keys)}; nothing was published")
    return keys


def _plan(options: Options, schema: StructType) -> SinkPlan:
    if options.sink_id is None:
        raise InvalidConfig(
            "option sinkId is missing: it names what is written, and readers ask for it by manifest=<sinkId>"
        )
    return SinkPlan(
        uri=options.metadata_service_uri,
        metadata_timeout_s=options.metadata_timeout_ms / 1000,
        sink_id=check_sink_id(options.sink_id),
        payload_index=payload_index(schema),
        sizes=(options.ensemble_size, options.write_quorum_size, options.ack_quorum_size),
        digest_type=options.digest_type or DigestType.CRC32C,
        password=read_password(options),
        config=client_config(options),
        ledger_bytes_max=options.max_ledger_bytes,
        ledger_entries_max=options.max_ledger_entries,
        limits=rate_limit(options),
    )


def _check_bookies(store: BlockingStore, plan: SinkPlan) -> None:
    """Raise NotEnoughBookies if no task could begin a ledger; every one of them would fail, and be tried again."""
    size, count = plan.sizes[0], len(store.writable_bookies())
    if count < size:
        raise NotEnoughBookies(
            f"option ensembleSize = {size}: a ledger needs so many bookies, and {count} can be written to; start more "
            "bookies, or give a smaller ensembleSize, and with it writeQuorumSize and ackQuorumSize"
        )


def _batch_key(options: Options) -> EpochKey:
    if options.txn_app_id is None or options.txn_version is None:
        return EpochKey(f"job-{uuid4()}", 0)
    return EpochKey(f"batch-{options.txn_app_id}", options.txn_version)

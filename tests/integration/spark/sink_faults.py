"""The sink with faults built in: format ``bookkeeper-faulty``, found by workers as a module of the repository.

Its options ``fault`` (one of :data:`FAULTS`), ``faultNotes`` (a file that each attempt and commit writes a line to)
and ``faultData`` (JSON) come on top of those of the sink.  All it does is around the real writers.
"""

import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter

from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.model import LedgerState, Versioned
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from bookkeeper_tx.spark.sink import writer as sink_writer
from bookkeeper_tx.spark.sink.mark import SinkMark
from bookkeeper_tx.spark.sink.sink import EPOCH_PROPERTY, make_stream_writer, make_writer
from bookkeeper_tx.spark.source import LedgerSource

FORMAT = "bookkeeper-faulty"
FAULTS = ("", "kill", "kill executor", "slow", "fail", "bookie", "hang in commit", "write again")
BATCHES_BEFORE_BOOKIE = 5
"""Of 5,000 rows: more than fit into the writer's window, so some of them are confirmed."""
WAIT_S = 300.0
"""How long a fault that hangs or is slow lasts, unless the test ends it."""


@frozen
class Faults:
    """A fault, and the file for its notes."""

    kind: str
    notes: str
    data: str

    def note(self, *words: object) -> None:
        if self.notes:
            with Path(self.notes).open("a") as file:
                file.write(" ".join(map(str, words)) + "\n")

    def rows(self, rows: Iterator[Any]) -> Iterator[Any]:
        """Yield ``rows``; the fault comes when the first batches of them were written."""
        context = TaskContext.get()
        assert context is not None
        partition, attempt = context.partitionId(), context.attemptNumber()
        epoch = context.getLocalProperty(EPOCH_PROPERTY) or "-"
        self.note("write", epoch, partition, attempt, executor_pid())
        first = attempt == 0
        for index, batch in enumerate(rows):
            if index == (BATCHES_BEFORE_BOOKIE if self.kind == "bookie" else 1):
                self._strike(partition, epoch, first)
            yield batch

    def _strike(self, partition: int, epoch: str, first: bool) -> None:
        if self.kind == "kill" and first and (partition == 1 or epoch == "1"):
            self.note("killed", epoch, partition)
            os._exit(1)
        if self.kind == "kill executor" and first and (partition == 1 or epoch == "1"):
            self.note("killed", epoch, partition, executor_pid())
            os.kill(executor_pid(), signal.SIGKILL)
            time.sleep(WAIT_S)  # the process that forked this one ends it when the executor is gone
        if self.kind == "fail" and partition == 1:
            raise RuntimeError("this partition always fails")
        if self.kind == "slow" and first and partition == 0 and epoch in ("-", "1"):
            time.sleep(WAIT_S)
        if self.kind == "bookie" and first and partition == 0:
            self._kill_bookie()

    def _kill_bookie(self) -> None:
        """Kill a bookie that this attempt is writing to."""
        context = TaskContext.get()
        assert context is not None
        data = json.loads(self.data)
        with open_blocking_store(data["uri"]) as store:
            for ledger_id, found in store.read_ledgers(store.list_ledgers()):
                assert isinstance(found, Versioned)
                mark = SinkMark.of(found.metadata.custom_metadata)
                if (
                    found.metadata.state is LedgerState.OPEN
                    and mark
                    and mark.task_attempt_id == context.taskAttemptId()
                ):
                    victim = found.metadata.last_fragment.ensemble[0]
                    os.kill(data["pids"][victim], signal.SIGKILL)
                    self.note("bookie", victim, ledger_id)

    def before_commit(self, messages: Any, epoch: object) -> None:
        ledgers = [ledger.ledger_id for message in messages if message for ledger in message.ledgers]
        self.note("commit", epoch, json.dumps(ledgers, separators=(",", ":")))
        if self.kind == "hang in commit":
            time.sleep(WAIT_S)


def executor_pid() -> int:
    """Return the executor of this task: the process that started the process that forked this one."""
    status = Path(f"/proc/{os.getppid()}/status").read_text()
    return int(status.partition("PPid:")[2].split()[0])


class FaultySource(LedgerSource):
    """Only writes."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def writer(self, schema: Any, overwrite: bool) -> Any:
        options, faults = _split(self.options)
        return FaultyWriter(make_writer(Options.from_spark(options, Use.WRITE), schema, overwrite), faults)

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        options, faults = _split(self.options)
        writer = make_stream_writer(Options.from_spark(options, Use.STREAM_WRITE), schema, overwrite)
        return FaultyStreamWriter(writer, faults)


def _split(options: Mapping[str, str]) -> tuple[dict[str, str], Faults]:
    rest = {key.lower(): value for key, value in options.items()}
    return rest, Faults(rest.pop("fault"), rest.pop("faultnotes", ""), rest.pop("faultdata", "{}"))


class _Faulty:
    def __init__(self, inner: Any, faults: Faults) -> None:
        self.inner = inner
        self.faults = faults

    def write(self, iterator: Iterator[Any]) -> Any:
        look = sink_writer.published
        if self.faults.kind == "write again":
            # As if the epoch was published only while this attempt was writing.
            sink_writer.published = lambda *_: None
        try:
            return self.inner.write(self.faults.rows(iterator))
        finally:
            sink_writer.published = look

    def commit(self, messages: Any, *epoch: int) -> None:
        self.faults.before_commit(messages, epoch[0] if epoch else "-")
        self.inner.commit(messages, *epoch)

    def abort(self, messages: Any, *epoch: int) -> None:
        self.faults.note("abort", *epoch)
        self.inner.abort(messages, *epoch)


class FaultyWriter(_Faulty, DataSourceArrowWriter):
    pass


class FaultyStreamWriter(_Faulty, DataSourceStreamArrowWriter):
    def commit(self, messages: Any, batchId: int) -> None:
        super().commit(messages, batchId)

    def abort(self, messages: Any, batchId: int) -> None:
        super().abort(messages, batchId)

"""The workloads of ``bktx bench spark`` on a session and one bookie, by the public DataFrame API only."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import frozen

from bookkeeper_tx.cli.bench.payloads import payloads
from bookkeeper_tx.cli.bench.spark_processes import SparkRun, SparkStopwatch
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.spark.writing.ledger_sequence import LedgerPlan, LedgerSequence

FORMAT = "bookkeeper"
ADDED_AT_ONCE = 10_000
TASKS = 2
"""As many as the session has slots."""
SINK = "bktx-bench"


class RowsMissing(BookKeeperError):
    """Spark returned another number of rows than there are entries."""


@frozen
class SparkBench:
    """One session and one bookie, with a ledger of entries of ``payload_size`` bytes."""

    spark: Any
    metadata_uri: str
    bookie_pid: int
    directory: Path
    """For Parquet files."""
    payload_size: int
    ledger_id: int

    # Reading --------------------------------------------------------------------------------------------------------

    def read_batch(self, count: int) -> SparkRun:
        """Read the first ``count`` entries by batch requests, into nothing."""
        return self._measured(count, lambda: self._into_nothing(self._entries(count)))

    def read_single(self, count: int) -> SparkRun:
        """Read them by a request each, into nothing."""
        return self._measured(count, lambda: self._into_nothing(self._entries(count, batch="false")))

    def export_parquet(self, count: int) -> SparkRun:
        """Write them to Parquet files, which are counted, and then deleted."""
        path = self.directory / "parquet"
        try:
            run = self._measured(count, lambda: self._entries(count).write.parquet(path.as_uri()))
            self._check(self.spark.read.parquet(path.as_uri()).count(), count, "Parquet files")
            return run
        finally:
            shutil.rmtree(path, ignore_errors=True)

    # Writing --------------------------------------------------------------------------------------------------------

    def cached_rows(self, count: int) -> Any:
        """Return ``count`` rows with payloads of the size, cached in the JVM."""
        payload = f"cast(rpad(cast(id as string), {self.payload_size}, 'x') as binary) as payload"
        frame = self.spark.range(0, count, 1, TASKS).selectExpr(payload).cache()
        self._check(frame.count(), count, "the cache")
        return frame

    def write_sink(self, frame: Any, count: int) -> SparkRun:
        """Write the ``count`` rows of ``frame`` to ledgers, planning and publication included; they are counted."""
        options = {"metadataServiceUri": self.metadata_uri, "sinkId": SINK}
        options |= dict.fromkeys(("ensembleSize", "writeQuorumSize", "ackQuorumSize"), "1")
        with open_blocking_store(self.metadata_uri) as store:
            before = set(store.list_ledgers())
            write = frame.write.format(FORMAT).mode("append").options(**options)
            run = self._measured(count, write.save)
            written = [store.read_ledger(each).metadata for each in set(store.list_ledgers()) - before]
        self._check(sum(each.last_entry_id + 1 for each in written if each.closed), count, "the ledgers")
        return run

    # ----------------------------------------------------------------------------------------------------------------

    def _entries(self, count: int, **options: str) -> Any:
        options |= {"metadataServiceUri": self.metadata_uri, "ledger": str(self.ledger_id)}
        options |= {"endingOffsets": json.dumps({str(self.ledger_id): count})}
        return self.spark.read.format(FORMAT).options(**options).load()

    def _into_nothing(self, frame: Any) -> None:
        frame.write.format("noop").mode("overwrite").save()

    def _measured(self, rows: int, work: Callable[[], Any]) -> SparkRun:
        watch = SparkStopwatch([self.bookie_pid])
        work()
        return watch.stop(rows)

    def _check(self, found: int, expected: int, where: str) -> None:
        if found != expected:
            raise RowsMissing(f"{where} have {found} rows, {expected} were expected")


def fill(metadata_uri: str, entries: int, payload_size: int) -> int:
    """Write a closed ledger of ``entries`` entries to one bookie; return its id."""
    source = payloads(entries, payload_size)
    plan = LedgerPlan(quorum=Quorum(1, 1, 1))
    with open_blocking_store(metadata_uri) as store, LedgerSequence(store, plan) as sequence:
        for first in range(0, entries, ADDED_AT_ONCE):
            sequence.append_many([next(source) for _ in range(min(ADDED_AT_ONCE, entries - first))])
        (written,) = sequence.close()
    return written.ledger_id

"""How fast Spark writes ledgers: rows of one size from a cached DataFrame to one bookie of ours.

Run it alone: ``python -m tests.benchmarks.sink_rate --rows 2000000``.  CPU is measured apart from Spark, with the same
rows written to the same bookie by one process without Spark.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from attrs import frozen

from bookkeeper_tx.blocking.ledger_sequence import LedgerPlan, LedgerSequence
from bookkeeper_tx.cli.process_cpu import cpu_ns
from bookkeeper_tx.metadata.blocking import open_blocking_store
from bookkeeper_tx.quorum import Quorum
from bookkeeper_tx.spark.session import local_session, register_all
from bookkeeper_tx.testing.local_cluster import LocalCluster

ROWS_OF_BATCH = 10_000
PARTITIONS = 2


@frozen
class SinkRate:
    """Medians of the runs."""

    spark_rows_per_s: float
    """Of whole writes, planning and publication included."""
    process_rows_per_s: float
    """Of one process without Spark."""
    writer_cpu_us: float
    """Of that process, for a row."""
    bookie_cpu_us: float
    """Of the bookie, for a row."""


def measure(cluster: LocalCluster, spark: Any, rows: int, size: int, runs: int) -> SinkRate:
    """Write ``rows`` of ``size`` bytes ``runs`` times each way, after one time to warm up."""
    frame = spark.range(0, rows, 1, PARTITIONS)
    frame = frame.selectExpr(f"cast(rpad(cast(id as string), {size}, 'x') as binary) as payload").cache()
    frame.count()
    options = {"metadataServiceUri": cluster.metadata_uri, "sinkId": "rate"}
    options |= dict.fromkeys(("ensembleSize", "writeQuorumSize", "ackQuorumSize"), "1")
    rates = []
    for _ in range(runs + 1):
        began_s = time.perf_counter()
        frame.write.format("bookkeeper").mode("append").options(**options).save()
        rates.append(rows / (time.perf_counter() - began_s))
    apart = [_without_spark(cluster, rows, size) for _ in range(runs + 1)][1:]
    process, writer, bookie = (median(column) for column in zip(*apart, strict=True))
    return SinkRate(median(rates[1:]), process, writer, bookie)


def _without_spark(cluster: LocalCluster, rows: int, size: int) -> tuple[float, float, float]:
    """Return rows/s, and CPU of writer and bookie in microseconds a row."""
    batch = [b"x" * size for _ in range(ROWS_OF_BATCH)]
    pids = (os.getpid(), cluster.bookies[0].pid or 0)
    before, began_s = [cpu_ns(pid) for pid in pids], time.perf_counter()
    plan = LedgerPlan(quorum=Quorum(1, 1, 1))
    with open_blocking_store(cluster.metadata_uri) as store, LedgerSequence(store, plan) as sequence:
        for first in range(0, rows, ROWS_OF_BATCH):
            sequence.append_many(batch[: rows - first])
        sequence.close()
    took_s = time.perf_counter() - began_s
    writer, bookie = ((cpu_ns(pid) - start) / 1000 / rows for pid, start in zip(pids, before, strict=True))
    return rows / took_s, writer, bookie


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, LocalCluster(Path(directory) / "bookies", 1) as cluster:
        spark = local_session("sink rate", settings={"spark.local.dir": directory})
        spark.sparkContext.setLogLevel("ERROR")
        register_all(spark)
        rate = measure(cluster, spark, asked.rows, asked.size, asked.runs)
        spark.stop()
    print(f"Spark {rate.spark_rows_per_s:,.0f} rows/s")
    print(f"one process without Spark {rate.process_rows_per_s:,.0f} rows/s")
    print(f"CPU of a row: writer {rate.writer_cpu_us:.2f} us, bookie {rate.bookie_cpu_us:.2f} us")


if __name__ == "__main__":
    main()

"""The cost of a task for Spark's driver: to plan it, to keep it and to run it, independent of the data that it reads.

Run it alone: ``python -m tests.benchmarks.spark_tasks --plans 10000,100000 --tasks 10000``.  Plans are of ledgers that
exist in the metadata only; the tasks that are run read one entry each from one bookie of ours.
"""

import argparse
import logging
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.quorums.quorum import Quorum
from bookkeeper_tx.spark.session import local_session, register_all
from bookkeeper_tx.spark.writing.ledger_sequence import LedgerPlan, LedgerSequence
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.benchmarks.spark_memory import cluster_of

TASKS_OF_LEDGER = 10
ENTRIES_OF_TASK = 1_000_000


@frozen
class PlanCost:
    """Of a read that is planned, and not run."""

    tasks: int
    ledgers: int
    load_s: float
    plan_s: float
    heap_bytes: int
    """More of the JVM's heap than before, while the plan is kept."""

    def __str__(self) -> str:
        return (
            f"planned {self.tasks:,} tasks of {self.ledgers:,} ledgers: load() {self.load_s:.2f} s, "
            f"partitions {self.plan_s:.2f} s, heap {self.heap_bytes:,} B ({self.heap_bytes / self.tasks:,.0f} B a task)"
        )


@frozen
class RunCost:
    """Of a read that is run."""

    tasks: int
    seconds: float

    def __str__(self) -> str:
        return f"ran {self.tasks:,} tasks in {self.seconds:.1f} s: {self.seconds / self.tasks * 1000:.2f} ms a task"


def heap_bytes(spark: Any) -> int:
    """Return how much of the driver's heap is in use, after a collection."""
    lang = spark.sparkContext._jvm.java.lang
    lang.System.gc()
    runtime = lang.Runtime.getRuntime()
    return int(runtime.totalMemory() - runtime.freeMemory())


def plan(spark: Any, tasks: int, directory: Path) -> PlanCost:
    """Plan a read of large ledgers by so many tasks."""
    ledgers = tasks // TASKS_OF_LEDGER
    options = cluster_of(directory / f"{tasks}.db", ledgers, TASKS_OF_LEDGER * ENTRIES_OF_TASK)
    before, began_s = heap_bytes(spark), time.perf_counter()
    frame = spark.read.format("bookkeeper").options(
        metadataServiceUri=options.metadata_service_uri, ledgers="0-", maxEntriesPerPartition=ENTRIES_OF_TASK
    )
    frame = frame.load()
    loaded_s = time.perf_counter()
    assert frame.rdd.getNumPartitions() == tasks
    planned_s = time.perf_counter()
    return PlanCost(tasks, ledgers, loaded_s - began_s, planned_s - loaded_s, heap_bytes(spark) - before)


def run(spark: Any, tasks: int, metadata_uri: str) -> RunCost:
    """Read a ledger by so many tasks, after a read to warm up."""
    with open_blocking_store(metadata_uri) as store, LedgerSequence(store, LedgerPlan(quorum=Quorum(1, 1, 1))) as made:
        made.append_many([b"x" * 100] * tasks)
        (written,) = made.close()
    reader = spark.read.format("bookkeeper").options(metadataServiceUri=metadata_uri, ledger=written.ledger_id)
    reader.load().write.format("noop").mode("append").save()
    frame = reader.option("maxEntriesPerPartition", 1).load()
    began_s = time.perf_counter()
    frame.write.format("noop").mode("append").save()
    return RunCost(tasks, time.perf_counter() - began_s)


def measure(spark: Any, plans: Iterable[int], tasks: int, directory: Path) -> Iterator[PlanCost | RunCost]:
    """Plan reads of so many tasks each, and run one of ``tasks``, if any."""
    for count in plans:
        yield plan(spark, count, directory)
    if tasks:
        with LocalCluster(directory / "bookies", 1) as cluster:
            yield run(spark, tasks, cluster.metadata_uri)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plans", default="10000,100000", help="how many tasks each")
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--driver-memory", default="2g")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as directory:
        settings = {
            "spark.local.dir": directory,
            "spark.driver.memory": asked.driver_memory,
            "spark.log.level": "ERROR",
        }
        spark = local_session("spark tasks", settings=settings)
        register_all(spark)
        for cost in measure(spark, map(int, filter(None, asked.plans.split(","))), asked.tasks, Path(directory)):
            print(cost, flush=True)
        spark.stop()


if __name__ == "__main__":
    main()

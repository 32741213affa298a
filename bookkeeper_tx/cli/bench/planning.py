"""The time to read the metadata of many ledgers, beside that of the same reads by the store's own client alone."""

import statistics
import time
from collections.abc import Callable
from typing import Any

from attrs import asdict, frozen

from bookkeeper_tx.cli.bench.planning_stores import TIMEOUT_S, PlanningStore
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.model import Versioned


class LedgersMissing(BookKeeperError):
    """Not as many ledgers were read as were made."""


@frozen
class PlanningRun:
    """Seconds for all ledgers; CPU is that of this process."""

    raw_s: float
    """The store's own client alone: pipelined gets of the nodes, or SELECTs of the rows; the results are dropped."""
    raw_cpu_s: float
    read_s: float
    """The metadata of the ledgers read by our store, and parsed."""
    read_cpu_s: float
    listed_and_read_s: float
    """The same with the listing of their ids before: the work of the store in planning."""
    listed_and_read_cpu_s: float
    load_s: float
    """``load()`` of them all in Spark."""
    plan_s: float
    """The cutting of its partitions."""

    @property
    def ratio(self) -> float:
        return self.listed_and_read_s / self.raw_s

    def as_dictionary(self) -> dict[str, float]:
        """Return the figures under their names in JSON."""
        figures = {
            **asdict(self),
            "read_ratio": self.read_s / self.raw_s,
            "listed_and_read_ratio": self.ratio,
            "planned_ratio": (self.load_s + self.plan_s) / self.raw_s,
        }
        return {name: round(value, 4) for name, value in figures.items()}


def compare(
    store: PlanningStore, count: int, plan: Callable[[str], tuple[float, float]], runs: int
) -> list[PlanningRun]:
    """Read ``count`` ledgers each way, in turns; a first turn warms up and does not count.

    ``plan`` has Spark plan to read all ledgers of a metadata URI; see :func:`planned_by_spark`.

    Raises LedgersMissing, and the errors of the store."""
    with open_blocking_store(store.uri, TIMEOUT_S) as ours:

        def read() -> int:
            return sum(isinstance(found, Versioned) for _, found in ours.read_ledgers(range(count)))

        def listed_and_read() -> int:
            return sum(isinstance(found, Versioned) for _, found in ours.read_ledgers(ours.list_ledgers()))

        turns = [
            PlanningRun(
                *_timed(lambda: store.raw_reads(count), count),
                *_timed(read, count),
                *_timed(listed_and_read, count),
                *plan(store.uri),
            )
            for _ in range(runs + 1)
        ]
        return turns[1:]


def median_of(runs: list[PlanningRun]) -> dict[str, float]:
    """Return the median of each figure over all runs."""
    rows = [run.as_dictionary() for run in runs]
    return {name: round(statistics.median(row[name] for row in rows), 4) for name in rows[0]}


def _timed(work: Callable[[], int], count: int) -> tuple[float, float]:
    cpu_s, began_s = time.process_time(), time.perf_counter()
    found = work()
    took = time.perf_counter() - began_s, time.process_time() - cpu_s
    if found != count:
        raise LedgersMissing(f"{found} ledgers were read, {count} were made")
    return took


def planned_by_spark(spark: Any, uri: str) -> tuple[float, float]:
    """Return how many seconds ``load()`` of all ledgers at ``uri`` takes, and cutting its partitions."""
    options = {"metadataServiceUri": uri, "ledgers": "0-", "metadataTimeoutMs": str(int(TIMEOUT_S * 1000))}
    began_s = time.perf_counter()
    frame = spark.read.format("bookkeeper").options(**options).load()
    loaded_s = time.perf_counter()
    frame.rdd.getNumPartitions()
    return loaded_s - began_s, time.perf_counter() - loaded_s

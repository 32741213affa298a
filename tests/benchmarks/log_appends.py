"""Measure what an append to a replicated log costs, beside one to a bare ledger; prints one JSON object a shape.

    python -m tests.benchmarks.log_appends --entries 5000 --runs 40

Log and ledger take turns, in one client on bookies of ours, so that a busy machine is busy for both.  The figures are
medians: CPU is that of the client's thread alone, and the ratios are those of turns that came one after the other.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat
from typing import Any

from attrs import asdict, frozen
from twisted.internet import reactor

from bookkeeper_tx import BookKeeper
from bookkeeper_tx.cli.bench.window import windowed
from bookkeeper_tx.cli.run import collect_garbage_seldom
from bookkeeper_tx.replicated_log import Namespace
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.reactor_thread import run_in_reactor

TIMEOUT_S = 600


@frozen
class Shape:
    """How entries are appended."""

    replicas: int
    window: int
    """Appends in flight: few of them are sent one by one, and many in runs."""
    payload_size: int
    """Bytes."""


SHAPES = (Shape(1, 1000, 100), Shape(1, 10, 100), Shape(3, 1000, 100), Shape(3, 1000, 1024))


@frozen
class Measured:
    """The figures of one shape."""

    shape: Shape
    ledger_cpu_us_per_entry: float
    log_cpu_us_per_entry: float
    cpu_ratio: float
    """Of a log to a ledger."""
    throughput_ratio: float


Took = tuple[float, float]
"""CPU and time of a turn, in seconds."""


def measure(runs: int, entries: int) -> Iterator[Measured]:
    """Measure each shape on a cluster of its own."""
    for shape in SHAPES:
        count = min(entries, 100 * shape.window)
        with tempfile.TemporaryDirectory() as directory, LocalCluster(directory, shape.replicas) as cluster:
            turns = run_in_reactor(partial(_turns, cluster.metadata_uri, shape, count, runs), TIMEOUT_S)
        (ledger_cpu, ledger_s), (log_cpu, log_s) = (tuple(zip(*each, strict=True)) for each in turns)
        yield Measured(
            shape,
            round(statistics.median(ledger_cpu) / count * 1e6, 3),
            round(statistics.median(log_cpu) / count * 1e6, 3),
            round(_median_ratio(log_cpu, ledger_cpu), 3),
            round(_median_ratio(ledger_s, log_s), 3),
        )


def _median_ratio(dividends: Any, divisors: Any) -> float:
    return statistics.median(dividend / divisor for dividend, divisor in zip(dividends, divisors, strict=True))


async def _turns(uri: str, shape: Shape, count: int, runs: int) -> tuple[list[Took], list[Took]]:
    """Return what each turn of the ledger took, and each of the log; the first of both warms up."""
    sizes = shape.replicas, shape.replicas, shape.replicas
    client = BookKeeper(uri, None, reactor)
    await client.start()
    ledger = await client.create_ledger(*sizes)
    logs = Namespace(client)
    await logs.create_log("log", *sizes)
    log = await logs.open_log_writer("log")
    took: tuple[list[Took], list[Took]] = [], []
    for run in range(runs + 1):
        for index in (0, 1) if run % 2 else (1, 0):
            took[index].append(await _turn((ledger.append, log.write)[index], shape, count))
    await ledger.close()
    await log.close()
    await client.close()
    return took[0][1:], took[1][1:]


async def _turn(append: Callable[[bytes], Any], shape: Shape, count: int) -> Took:
    cpu_s, wall_s = time.thread_time(), time.perf_counter()
    await windowed(map(append, repeat(bytes(shape.payload_size), count)), shape.window)
    return time.thread_time() - cpu_s, time.perf_counter() - wall_s


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=40)
    options = parser.parse_args()
    collect_garbage_seldom()
    for measured in measure(options.runs, options.entries):
        print(json.dumps(asdict(measured)), flush=True)


if __name__ == "__main__":
    main()

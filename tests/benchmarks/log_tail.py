"""Measure how long a record of a log takes to its follower; prints one JSON object a number of replicas.

    python -m tests.benchmarks.log_tail --records 500 --pause-ms 20

Writer and follower are clients of their own, on one reactor, with bookies of ours: from the call that writes a record
to the turn in which its reader has it.  Nothing follows the record, so that only what the writer publishes tells of it.
"""

import argparse
import json
import statistics
import tempfile
import time
from functools import partial
from typing import Any

from attrs import asdict, frozen
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from bookkeeper_tx import BookKeeper
from bookkeeper_tx.cli.run import collect_garbage_seldom
from bookkeeper_tx.replicated_log import Namespace
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.reactor_thread import run_in_reactor

REPLICAS = (1, 3)
WARM_UP = 20
TIMEOUT_S = 600


@frozen
class Measured:
    """The figures for one number of replicas."""

    replicas: int
    records: int
    written_p50_ms: float
    """Until the writer knew that it was stored."""
    seen_p50_ms: float
    """Until the follower had it."""
    seen_p99_ms: float


def measure(replicas: int, records: int, pause_s: float) -> Measured:
    """Measure on a cluster of its own."""
    with tempfile.TemporaryDirectory() as directory, LocalCluster(directory, replicas) as cluster:
        run = partial(_measure, cluster.metadata_uri, replicas, records, pause_s)
        written, seen = run_in_reactor(run, TIMEOUT_S)
    percentiles = statistics.quantiles(seen, n=100)
    return Measured(replicas, records, _ms(statistics.median(written)), _ms(percentiles[49]), _ms(percentiles[98]))


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


async def _measure(uri: str, replicas: int, records: int, pause_s: float) -> tuple[list[float], list[float]]:
    clock: Any = reactor
    writing, reading = BookKeeper(uri, None, clock), BookKeeper(uri, None, clock)
    for each in writing, reading:
        await each.start()
    await Namespace(writing).create_log("log", replicas, replicas, replicas)
    log = await Namespace(writing).open_log_writer("log")
    seen_s: list[float] = []

    async def follow() -> None:
        async for _ in Namespace(reading).read("log", follow=True):
            seen_s.append(time.perf_counter())
            if len(seen_s) == WARM_UP + records:
                return

    following = Deferred.fromCoroutine(follow())
    begun_s, written_s = [], []
    for _ in range(WARM_UP + records):
        begun_s.append(time.perf_counter())
        await log.write(bytes(100))
        written_s.append(time.perf_counter())
        await deferLater(clock, pause_s)
    await following
    await log.close()
    for each in writing, reading:
        await each.close()
    took = [[end - begun for begun, end in zip(begun_s, ends, strict=True)][WARM_UP:] for ends in (written_s, seen_s)]
    return took[0], took[1]


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=500)
    parser.add_argument("--pause-ms", type=float, default=20.0)
    options = parser.parse_args()
    collect_garbage_seldom()
    for replicas in REPLICAS:
        print(json.dumps(asdict(measure(replicas, options.records, options.pause_ms / 1000))), flush=True)


if __name__ == "__main__":
    main()

"""Measure how long the next writer of a log takes when the one before is gone; prints one JSON object a length.

    python -m tests.benchmarks.log_takeover --ledgers 10 --ledgers 10000 --runs 10

The writer before has entries on their way, and neither closes the log nor says anything: the next one finds its ledger
open, as after a kill.  Measured are the opening, up to the first write that is served, and beside it the recovery of
two such ledgers by themselves, which is part of it.
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

from bookkeeper_tx import BookKeeper
from bookkeeper_tx.cli.run import collect_garbage_seldom
from bookkeeper_tx.replicated_log import Namespace
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.reactor_thread import run_in_reactor

BOOKIES = 3
RECORDS = 100
"""Written by each writer before it is gone."""

TIMEOUT_S = 3600


@frozen
class Measured:
    """The figures for logs of one length, medians."""

    ledgers: int
    runs: int
    recovery_ms: float
    """Of two ledgers."""
    open_ms: float
    first_write_ms: float
    """Of the write behind the opening."""


def measure(ledgers: int, runs: int) -> Measured:
    """Measure on a cluster of its own."""
    with tempfile.TemporaryDirectory() as directory, LocalCluster(directory, BOOKIES) as cluster:
        took = run_in_reactor(partial(_measure, cluster.metadata_uri, ledgers, runs), TIMEOUT_S)
    return Measured(ledgers, runs, *(round(statistics.median(each) * 1000, 2) for each in zip(*took, strict=True)))


async def _measure(uri: str, ledgers: int, runs: int) -> list[tuple[float, float, float]]:
    client = BookKeeper(uri, None, reactor)
    await client.start()
    logs = Namespace(client)
    await logs.create_log("log", BOOKIES, BOOKIES, 2)
    writer = await logs.open_log_writer("log")
    while writer.log_segment_sequence_no < ledgers - 1:
        await writer.write(b"")
        await writer.roll()
    took = []
    for _ in range(runs):
        writing = [writer.write(bytes(100)) for _ in range(RECORDS)]
        for each in writing:
            each.addErrback(lambda _: None)
        await writing[RECORDS // 2]
        recovery_s = await _recover_two(client)
        begun_s = time.perf_counter()
        writer = await logs.open_log_writer("log")
        opened_s = time.perf_counter()
        await writer.write(b"")
        took.append((recovery_s, opened_s - begun_s, time.perf_counter() - opened_s))
    await writer.close()
    await client.close()
    return took


async def _recover_two(client: Any) -> float:
    """Return how long the recovery of two ledgers takes that are open, and have as many entries."""
    ledger_ids = []
    for _ in range(2):
        ledger = await client.create_ledger(BOOKIES, BOOKIES, 2)
        await ledger.append_many([bytes(100)] * RECORDS)
        ledger_ids.append(ledger.ledger_id)
    begun_s = time.perf_counter()
    for each in ledger_ids:
        (await client.open_ledger(each)).close()
    return time.perf_counter() - begun_s


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ledgers", type=int, action="append", help="default: 10 and 10000")
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    collect_garbage_seldom()
    for ledgers in options.ledgers or (10, 10_000):
        print(json.dumps(asdict(measure(ledgers, options.runs))), flush=True)


if __name__ == "__main__":
    main()

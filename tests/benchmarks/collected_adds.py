"""Measure adds to a bookie that collects garbage and compacts, beside one that does neither; one JSON object a storage.

    python -m tests.benchmarks.collected_adds --seconds 20 --runs 5

Both flush, and have the same work: ledgers of 1 KiB entries, half of which are deleted as soon as they are written and
the others later, so that the logs are half in use when they are compacted.  The bookies take turns, each with a new
directory; a turn begins to count when a third of its time is over.  The ratios are those of turns that came one after
the other, and what was collected and compacted says that it was going on.
"""

import argparse
import json
import re
import statistics
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

from attrs import asdict, field, frozen

from bookkeeper_tx.blocking import BookKeeper
from bookkeeper_tx.cli.bench.process_cpu import cpu_ns_with_ended_threads, usage
from bookkeeper_tx.testing.local_cluster import LocalBookie, LocalCluster

STORAGES = ("SortedLedgerStorage", "DbLedgerStorage")

MIB = 1024 * 1024
PAYLOADS = [bytes([number % 256]) * 1024 for number in range(1000)]
"""The entries of a ledger."""
LEDGERS_KEPT = 100

SETTINGS = {
    "httpServerEnabled": "true",
    "httpServerPort": 0,
    "flushInterval": 1000,
    "logSizeLimit": 32 * MIB,
    "journalMaxSizeMB": 32,
    "compactionRateByEntries": 1_000_000,
}
OFTEN = {"gcWaitTime": 1000, "minorCompactionInterval": 2, "majorCompactionInterval": 3}
"""Collections and compactions all the time."""
NEVER = {"gcWaitTime": 3_600_000, "minorCompactionThreshold": 0, "majorCompactionThreshold": 0}


@frozen
class Turn:
    """What one bookie did."""

    adds_per_s: float
    cpu_us_per_add: float
    """Of the bookie, all its threads."""
    longest_add_s: float
    """Of a thousand entries that were appended together."""
    memory_mib: float
    """The most that the bookie had."""
    collected_mib: float
    """Entry logs that were removed because nothing of them was left."""
    compacted_mib: float
    """What compactions gave back."""


@frozen
class Measured:
    """The figures of one storage: medians of the runs, and of what was collected the least."""

    storage: str
    adds_per_s: int = field(converter=int)
    """Without collections."""
    ratio: float
    """The rate with collections and compactions to the rate without."""
    cpu_ratio: float
    """Of the bookie, for each entry."""
    longest_add_s: float
    """Of all turns with collections."""
    memory_mib: int = field(converter=int)
    collected_mib: int = field(converter=int)
    compacted_mib: int = field(converter=int)


def measure(storages: list[str], seconds: float, runs: int) -> Iterator[Measured]:
    """Measure each storage."""
    for storage in storages:
        without: list[Turn] = []
        collecting: list[Turn] = []
        for run in range(runs):
            for often in (False, True) if run % 2 else (True, False):
                (collecting if often else without).append(_turn(storage, OFTEN if often else NEVER, seconds))
        pairs = list(zip(collecting, without, strict=True))
        yield Measured(
            storage,
            statistics.median(each.adds_per_s for each in without),
            round(statistics.median(a.adds_per_s / b.adds_per_s for a, b in pairs), 3),
            round(statistics.median(a.cpu_us_per_add / b.cpu_us_per_add for a, b in pairs), 3),
            round(max(each.longest_add_s for each in collecting), 3),
            max(each.memory_mib for each in collecting),
            min(each.collected_mib for each in collecting),
            min(each.compacted_mib for each in collecting),
        )


def _turn(storage: str, collection: dict[str, int], seconds: float) -> Turn:
    settings: dict[str, Any] = {**SETTINGS, **collection, "ledgerStorageClass": storage}
    with (
        tempfile.TemporaryDirectory() as directory,
        LocalCluster(directory, 1, settings=settings) as cluster,
        BookKeeper(cluster.metadata_uri) as client,
    ):
        [bookie] = cluster.bookies
        assert bookie.pid is not None
        work = _written(client)
        _for(seconds / 3, work)
        cpu_ns, start_s = cpu_ns_with_ended_threads(bookie.pid), time.perf_counter()
        took = _for(seconds * 2 / 3, work)
        cpu_ns, wall_s = cpu_ns_with_ended_threads(bookie.pid) - cpu_ns, time.perf_counter() - start_s
        count = len(took) * len(PAYLOADS)
        metrics = _metrics(bookie)
        return Turn(
            count / wall_s,
            cpu_ns / 1000 / count,
            max(took),
            usage(bookie.pid).resident_bytes_max / MIB,
            metrics["bookie_RECLAIMED_DELETION_SPACE_BYTES"] / MIB,
            metrics["bookie_RECLAIMED_COMPACTION_SPACE_BYTES"] / MIB,
        )


def _for(seconds: float, work: Iterator[float]) -> list[float]:
    end_s = time.perf_counter() + seconds
    took = [next(work)]
    while time.perf_counter() < end_s:
        took.append(next(work))
    return took


def _written(client: BookKeeper) -> Iterator[float]:
    """Write a ledger and delete one, or none, for each that is asked for; give the seconds that its entries took."""
    kept: deque[int] = deque()
    while True:
        for stays in (True, False):
            with client.create_ledger(1, 1, 1, password=b"") as writer:
                start_s = time.perf_counter()
                writer.append_many(PAYLOADS)
                took_s = time.perf_counter() - start_s
            if stays:
                kept.append(writer.ledger_id)
                if len(kept) > LEDGERS_KEPT:
                    client.delete_ledger(kept.popleft())
            else:
                client.delete_ledger(writer.ledger_id)
            yield took_s


def _metrics(bookie: LocalBookie) -> dict[str, float]:
    found = re.search(r"http://\S+/metrics", bookie.log)
    assert found is not None
    with urlopen(found[0], timeout=60) as page:
        lines = page.read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--storage", action="append", choices=STORAGES)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    for measured in measure(options.storage or list(STORAGES), options.seconds, options.runs):
        print(json.dumps(asdict(measured)), flush=True)


if __name__ == "__main__":
    main()

"""Measure how fast very many ledgers are listed, and in how much memory; prints one JSON object a store.

    python -m tests.benchmarks.metadata_listing --stores sqlite --ledgers 1000000 --runs 3

A process of its own lists, in each run: its memory is that of a client that has done nothing else.  ZooKeeper needs a
JVM and pyspark's jars, etcd its program; neither server syncs its log.
"""

import argparse
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from attrs import asdict, frozen
from twisted.internet import reactor

from bookkeeper_tx.metadata.store import open_metadata_store
from compat_tests.targets.etcd import Etcd
from compat_tests.targets.zookeeper import ZooKeeper
from tests.benchmarks.many_ledgers import put_ledgers
from tests.memory import MIB, memory_peak_mib, resident_bytes
from tests.reactor_thread import run_in_reactor

STORES = ("sqlite", "zk+hierarchical", "zk+longhierarchical", "zk+flat", "etcd")
TIMEOUT_S = 600
SERVER_HEAP_MB = 256
LEDGERS_IN_MB = 1000


@frozen
class Listing:
    """One list of all ledgers, in a process that has done nothing before."""

    seconds: float
    peak_mib: int
    """The most memory that the process has had."""
    listing_mib: int
    """What of that came after its store had connected."""


@frozen
class Measured:
    """The figures of one store: the median time of the runs, and the most memory of any."""

    store: str
    ledgers: int
    put_s: float
    """How long it took to put the ledgers there, which says nothing about the store: they are put in bulk."""
    seconds: float
    per_second: int
    seconds_of_runs: list[float]
    peak_mib: int
    listing_mib: int


def measure(store: str, ledgers: int, runs: int) -> Measured:
    """Put ledgers into a new ``store``, and list them in each run."""
    with served(store, ledgers) as uri:
        started = time.perf_counter()
        put_ledgers(uri, ledgers)
        put_s = time.perf_counter() - started
        listings = [_list_elsewhere(uri, ledgers) for _ in range(runs)]
    seconds = statistics.median(each.seconds for each in listings)
    return Measured(
        store,
        ledgers,
        round(put_s, 2),
        round(seconds, 3),
        round(ledgers / seconds),
        [round(each.seconds, 3) for each in listings],
        max(each.peak_mib for each in listings),
        max(each.listing_mib for each in listings),
    )


@contextmanager
def served(store: str, ledgers: int) -> Iterator[str]:
    """Start the server of a store, if it has one, with room for so many ledgers; yields the URI of a new cluster."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if store == "sqlite":
            yield f"sqlite://{folder}/metadata.db"
        elif store == "etcd":
            yield f"etcd://{stack.enter_context(Etcd(folder)).hosts}/ledgers"
        else:
            heap_mb = SERVER_HEAP_MB + ledgers // LEDGERS_IN_MB
            yield f"{store}://{stack.enter_context(ZooKeeper(folder, heap_mb=heap_mb)).hosts}/ledgers"


def _list_elsewhere(uri: str, count: int) -> Listing:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(list_here, uri, count).result()


def list_here(uri: str, count: int) -> Listing:
    """List the ledgers 1 to ``count`` in this process."""
    return run_in_reactor(lambda: _list(uri, count), timeout_s=TIMEOUT_S)


async def _list(uri: str, count: int) -> Listing:
    store: Any = open_metadata_store(uri, reactor)
    await store.start()
    await store.instance_id()
    before = resident_bytes()
    started = time.perf_counter()
    found = await store.list_ledgers()
    seconds = time.perf_counter() - started
    peak_mib = memory_peak_mib()
    await store.stop()
    assert len(found) == count
    assert all(map(int.__eq__, found, range(1, count + 1)))
    return Listing(seconds, peak_mib, peak_mib - before // MIB)


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stores", nargs="+", choices=STORES, default=list(STORES))
    parser.add_argument("--ledgers", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    for store in options.stores:
        print(json.dumps(asdict(measure(store, options.ledgers, options.runs))), flush=True)


if __name__ == "__main__":
    main()

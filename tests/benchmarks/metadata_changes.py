"""Measure what the metadata of a new ledger cost: its id, its creation, its close; prints one JSON object a store.

    python -m tests.benchmarks.metadata_changes --ledgers 500 --runs 5

The stores take turns, each in a cluster of its own, so that a busy machine is busy for all of them.  ZooKeeper needs a
JVM and pyspark's jars, etcd its program; neither server syncs its log.
"""

import argparse
import json
import statistics
import tempfile
import time
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from attrs import asdict, frozen
from twisted.internet import reactor
from twisted.internet.defer import Deferred, gatherResults

from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata
from compat_tests.targets.etcd import Etcd
from compat_tests.targets.zookeeper import ZooKeeper
from tests.reactor_thread import run_in_reactor

STORES = ("sqlite", "zookeeper", "etcd")
WARM_UP = 20
TIMEOUT_S = 600
METADATA = LedgerMetadata(3, 3, 2, [Fragment(0, ("a:3181", "b:3181", "c:3181"))], DigestType.CRC32C, b"")


@frozen
class Measured:
    """The figures of one store: the median of the runs."""

    store: str
    at_once: int
    ms_per_ledger: float
    ms_of_runs: list[float]


def measure(stores: list[str], ledgers: int, at_once: int, runs: int) -> list[Measured]:
    """Create and close ledgers in each store, ``at_once`` at a time."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        schemes = {"sqlite": f"sqlite://{folder}"}
        if "zookeeper" in stores:
            schemes["zookeeper"] = f"zk+hierarchical://{stack.enter_context(ZooKeeper(folder / 'zookeeper')).hosts}"
        if "etcd" in stores:
            schemes["etcd"] = f"etcd://{stack.enter_context(Etcd(folder / 'etcd')).hosts}"
        took: dict[str, list[float]] = {store: [] for store in stores}
        for _ in range(runs):
            for store in stores:
                uri = f"{schemes[store]}/{uuid.uuid4()}"
                took[store].append(run_in_reactor(lambda uri=uri: _run(uri, ledgers, at_once), timeout_s=TIMEOUT_S))
        return [Measured(store, at_once, statistics.median(times), times) for store, times in took.items()]


async def _run(uri: str, ledgers: int, at_once: int) -> float:
    store: Any = open_metadata_store(uri, reactor)
    await store.start()
    await store.initialize()
    await _create_and_close(store, WARM_UP)
    started = time.perf_counter()
    each = ledgers // at_once
    await gatherResults([Deferred.fromCoroutine(_create_and_close(store, each)) for _ in range(at_once)])
    took_s = time.perf_counter() - started
    assert len(await store.list_ledgers()) == WARM_UP + each * at_once
    await store.stop()
    return took_s / (each * at_once) * 1e3


async def _create_and_close(store: Any, count: int) -> None:
    for _ in range(count):
        ledger_id = await store.new_ledger_id()
        created = await store.create_ledger(ledger_id, METADATA)
        await store.write_ledger(ledger_id, created.metadata.with_close(-1, 0), created.version)


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stores", nargs="+", choices=STORES, default=list(STORES))
    parser.add_argument("--ledgers", type=int, default=500)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    for measured in measure(options.stores, options.ledgers, options.at_once, options.runs):
        print(json.dumps(asdict(measured)), flush=True)


if __name__ == "__main__":
    main()

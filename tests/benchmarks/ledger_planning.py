"""What it costs to read the metadata of many ledgers, against kazoo's reads of the same nodes and nothing else.

Run it alone: ``python -m tests.benchmarks.ledger_planning --ledgers 50000``.  Needs Java, for a ZooKeeper, whose heap
has no room for many more.
"""

import argparse
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from statistics import median

from attrs import evolve, frozen
from kazoo.client import KazooClient
from twisted.internet import reactor

from bookkeeper_tx.metadata.blocking import open_blocking_store
from bookkeeper_tx.metadata.blocking_requests import WINDOW
from bookkeeper_tx.metadata.ledger_serialization import serialize
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.metadata.zookeeper_paths import LedgerTree
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata
from compat_tests.targets.zookeeper import ZooKeeper
from tests.reactor_thread import run_in_reactor

_CREATES_AT_ONCE = 500
_TIMEOUT_S = 60.0
"""A server on a busy machine may be silent for long."""

_METADATA = LedgerMetadata(
    3,
    3,
    2,
    [Fragment(0, ("10.0.0.1:3181", "10.0.0.2:3181", "10.0.0.3:3181"))],
    DigestType.CRC32C,
    b"secret",
    ctime_ms=1_700_000_000_000,
    custom_metadata={"application": b"bookkeeper_tx.spark"},
).with_close(9_999, 1_000_000)


@frozen
class Cost:
    """Of one ledger, in microseconds."""

    cpu_us: float
    wall_us: float


@frozen
class Comparison:
    """Medians of the runs, which take turns."""

    raw: Cost
    """kazoo's reads of all nodes."""
    read: Cost
    """``read_ledgers`` of all ledgers."""
    planned: Cost
    """The same, with their ids listed before."""

    def ratios(self, cost: Cost) -> tuple[float, float]:
        """Return how many times the CPU and the time of kazoo alone ``cost`` is."""
        return cost.cpu_us / self.raw.cpu_us, cost.wall_us / self.raw.wall_us


def make_ledgers(hosts: str, root: str, count: int) -> None:
    """Make a cluster at ``root`` with closed ledgers 0, 1, … of one fragment."""

    async def make_cluster() -> None:
        store = open_metadata_store(f"zk://{hosts}{root}", reactor)
        await store.start()
        await store.initialize()
        await store.stop()

    run_in_reactor(make_cluster)
    client = KazooClient(hosts, timeout=_TIMEOUT_S)
    client.start()
    tree = LedgerTree(root)
    try:
        for first in range(0, count, _CREATES_AT_ONCE):
            transaction = client.transaction()
            for ledger_id in range(first, min(first + _CREATES_AT_ONCE, count)):
                path = tree.path(ledger_id)
                if ledger_id % 10_000 == 0:
                    client.ensure_path(path.rpartition("/")[0])
                transaction.create(path, serialize(evolve(_METADATA, create_token=ledger_id)))
            errors = [result for result in transaction.commit() if isinstance(result, Exception)]
            assert not errors, errors
    finally:
        client.stop()
        client.close()


def compare(hosts: str, root: str, count: int, runs: int) -> Comparison:
    """Read all ledgers with a blocking store, and all nodes with kazoo alone."""
    tree = LedgerTree(root)
    paths = [tree.path(ledger_id) for ledger_id in range(count)]
    client = KazooClient(hosts, timeout=_TIMEOUT_S)
    client.start()
    raw, read, planned = [], [], []
    try:
        with open_blocking_store(f"zk://{hosts}{root}", _TIMEOUT_S) as store:
            for _ in range(runs):
                raw.append(_cost(count, lambda: _raw_reads(client, paths)))
                read.append(_cost(count, lambda: sum(1 for _ in store.read_ledgers(range(count)))))
                planned.append(_cost(count, lambda: sum(1 for _ in store.read_ledgers(store.list_ledgers(None)))))
    finally:
        client.stop()
        client.close()
    return Comparison(_median(raw), _median(read), _median(planned))


def _raw_reads(client: KazooClient, paths: Iterable[str]) -> int:
    """Read nodes with as many in flight as the store has."""
    source, sent, done = iter(paths), deque(), 0
    while True:
        for path in islice(source, WINDOW - len(sent)):
            sent.append(client.get_async(path))
        if not sent:
            return done
        sent.popleft().get()
        done += 1


def _cost(count: int, work: Callable[[], int]) -> Cost:
    cpu, wall = time.process_time(), time.perf_counter()
    assert work() == count
    return Cost((time.process_time() - cpu) * 1e6 / count, (time.perf_counter() - wall) * 1e6 / count)


def _median(costs: list[Cost]) -> Cost:
    return Cost(median(each.cpu_us for each in costs), median(each.wall_us for each in costs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ledgers", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, ZooKeeper(Path(directory)) as zookeeper:
        make_ledgers(zookeeper.hosts, "/ledgers", options.ledgers)
        result = compare(zookeeper.hosts, "/ledgers", options.ledgers, options.runs)
    for name in ("raw", "read", "planned"):
        cost = getattr(result, name)
        cpu_ratio, wall_ratio = result.ratios(cost)
        print(
            f"{name:8} {cost.cpu_us:7.1f} us CPU ({cpu_ratio:.2f}), {cost.wall_us:7.1f} us ({wall_ratio:.2f}) a ledger"
        )


if __name__ == "__main__":
    main()

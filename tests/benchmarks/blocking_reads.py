"""Measure reading without a reactor, from one bookie of ours to Arrow batches; prints one JSON object a workload.

    python -m tests.benchmarks.blocking_reads --entries 1000000

CPU is that of the whole reading process: socket, framing, digests, batches.  It is the best of the runs, since other
processes can only make it worse.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator

import pyarrow as pa
from attrs import asdict, frozen

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.model import DigestType, Fragment
from bookkeeper_tx.spark.bookies.bookie_channels import BookieChannels
from bookkeeper_tx.spark.entries.arrow_entries import record_batches
from bookkeeper_tx.spark.reading.ledger_range import LedgerRange
from bookkeeper_tx.spark.reading.ledger_reader import LedgerReader
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support.adding_channel import AddingChannel

SCHEMA = pa.schema([("ledger_id", pa.int64()), ("entry_id", pa.int64()), ("payload", pa.binary())])
DIGEST = EntryDigest(DigestType.CRC32C, b"")
ADDED_AT_ONCE = 2000

SIZES: dict[str, Callable[[int], int]] = {
    "100 B": lambda entry_id: 100,
    "80 to 120 B": lambda entry_id: 80 + entry_id * 7919 % 41,
    "1 KiB": lambda entry_id: 1024,
    "16 KiB": lambda entry_id: 16_384,
}

BYTES_MAX = 1 << 29
"""Payload bytes of a ledger, so that there are fewer large entries than small ones."""


@frozen
class Measured:
    """The figures of one workload, per entry."""

    sizes: str
    batch: bool
    entries: int
    cpu_us_per_entry: float
    wall_us_per_entry: float


def store(address: tuple[str, int], ledger_id: int, size_of: Callable[[int], int], entries: int) -> None:
    """Add entries of these sizes."""
    length = 0
    with AddingChannel(*address, ClientConfig(add_timeout_s=60)) as channel:
        for first in range(0, entries, ADDED_AT_ONCE):
            sealed = []
            for entry_id in range(first, min(first + ADDED_AT_ONCE, entries)):
                payload = b"x" * size_of(entry_id)
                length += len(payload)
                sealed.append(DIGEST.seal(ledger_id, entry_id, entry_id - 1, length, payload))
            channel.add_entries(ledger_id, first, sealed, DIGEST.master_key)


def measure(runs: int, entries: int) -> Iterator[Measured]:
    """Read each kind of ledger by batch and by single reads."""
    with tempfile.TemporaryDirectory() as directory, LocalCluster(directory, 1) as cluster:
        bookie = cluster.bookies[0]
        address = ("127.0.0.1", bookie.port)
        for ledger_id, (sizes, size_of) in enumerate(SIZES.items(), 1):
            count = min(entries, BYTES_MAX // size_of(0))
            store(address, ledger_id, size_of, count)
            fragments = (Fragment(0, (bookie.bookie_id,)),)
            ledger = LedgerRange(ledger_id, 0, count - 1, fragments, 1, 1, 1, DigestType.CRC32C)
            for batch in (True, False):
                took = [_read(bookie.bookie_id, address, ledger, batch) for _ in range(runs)]
                cpu_s, wall_s = (min(times) for times in zip(*took, strict=True))
                yield Measured(sizes, batch, count, cpu_s / count * 1e6, wall_s / count * 1e6)


def _read(bookie_id: str, address: tuple[str, int], ledger: LedgerRange, batch: bool) -> tuple[float, float]:
    with BookieChannels({bookie_id: address}) as channels:
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        runs = LedgerReader(channels, ledger, b"", batch=batch).runs()
        rows = sum(each.num_rows for each in record_batches(runs, SCHEMA))
        took = time.process_time() - cpu_s, time.perf_counter() - wall_s
    assert rows == ledger.count
    return took


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    for measured in measure(options.runs, options.entries):
        print(json.dumps(asdict(measured)), flush=True)


if __name__ == "__main__":
    main()

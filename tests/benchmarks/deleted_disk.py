"""Measure what is left on a bookie's disk once all ledgers are deleted; one JSON object a storage.

    python -m tests.benchmarks.deleted_disk --mib 2048 --seconds 60

Ledgers of 1 KiB entries are written in turns, flushed, and deleted; the seconds begin with the last deletion.  The
bookie has default settings, but flushes and collects more often.  Journals are counted apart: they go by their own age.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from bookkeeper_tx.blocking import BookKeeper
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.benchmarks.collected_adds import MIB, STORAGES

PAYLOADS = [bytes(1024)] * 256
"""What a ledger is given at a time, a quarter of a MiB."""
LEDGERS = 1000

SETTINGS = {"gcWaitTime": 10_000, "flushInterval": 1000}

FLUSH_TIMEOUT_S = 60


@frozen
class Measured:
    """What one storage had on the disk, in MiB that the file system has given to files."""

    storage: str
    written_mib: float
    """Payloads."""
    before_mib: float
    """Entry logs and indexes before the deletion."""
    left_mib: float
    """Entry logs and indexes in the end."""
    left_percent: float
    """These, of what was written."""
    journals_before_mib: float
    journals_left_mib: float


def measure(storages: list[str], mib: int, seconds: float) -> Iterator[Measured]:
    """Measure each storage."""
    for storage in storages:
        settings: dict[str, Any] = {**SETTINGS, "ledgerStorageClass": storage}
        with (
            tempfile.TemporaryDirectory() as directory,
            LocalCluster(directory, 1, settings=settings) as cluster,
            BookKeeper(cluster.metadata_uri) as client,
        ):
            [bookie] = cluster.bookies
            ledger_ids = _write(client, mib)
            before = _flushed(bookie.directory, mib)
            for ledger_id in ledger_ids:
                client.delete_ledger(ledger_id)
            time.sleep(seconds)
            after = _taken(bookie.directory)
        yield Measured(storage, mib, before[0], after[0], round(after[0] / mib * 100, 3), before[1], after[1])


def _write(client: BookKeeper, mib: int) -> list[int]:
    """Write so much, and close the ledgers."""
    writers = [client.create_ledger(1, 1, 1, password=b"") for _ in range(min(LEDGERS, mib * 4))]
    for number in range(mib * 4):
        writers[number % len(writers)].append_many(PAYLOADS)
    for writer in writers:
        writer.close()
    return [writer.ledger_id for writer in writers]


def _flushed(directory: Path, mib: int) -> tuple[float, float]:
    """Return what is taken once so much is in entry logs."""
    end_s = time.monotonic() + FLUSH_TIMEOUT_S
    while (taken := _taken(directory))[0] < mib:
        assert time.monotonic() < end_s, f"{taken[0]} MiB in entry logs after {FLUSH_TIMEOUT_S} s"
        time.sleep(0.1)
    return taken


def _taken(directory: Path) -> tuple[float, float]:
    """Return the MiB of all files but journals below a directory, and those of journals."""
    journals = others = 0
    for path in directory.rglob("*"):
        if path.is_file():
            blocks = path.stat().st_blocks
            if path.suffix == ".txn":
                journals += blocks
            else:
                others += blocks
    return round(others * 512 / MIB, 3), round(journals * 512 / MIB, 3)


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--storage", action="append", choices=STORAGES)
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    for measured in measure(options.storage or list(STORAGES), options.mib, options.seconds):
        print(json.dumps(asdict(measured)), flush=True)


if __name__ == "__main__":
    main()

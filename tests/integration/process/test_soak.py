"""Ledgers that come and go at full rate: what a bookie has on its disk and in its memory stays bounded.

There is one of each class of ledger storage.

What was acknowledged and not deleted is whole after each SIGKILL, and what was deleted is gone for good.
"""

import time
from collections import deque
from pathlib import Path
from random import Random

import pytest

from bookkeeper_tx.blocking import BookKeeper
from bookkeeper_tx.cli.bench.process_cpu import usage
from bookkeeper_tx.errors import NoSuchLedger
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support.disk_bytes import disk_bytes
from tests.integration.support.load_payloads import payload
from tests.integration.support.our_client import poll

MIB = 1024 * 1024
SETTINGS = {
    "gcWaitTime": 1000,
    "minorCompactionInterval": 2,
    "majorCompactionInterval": 4,
    "compactionRateByEntries": 1_000_000,
    "flushInterval": 1000,
    "logSizeLimit": 32 * MIB,
    "journalMaxSizeMB": 32,
}
MEMORY_BYTES_MAX = 600 * MIB

LIVE_LEDGERS = 60
"""So many are left alone; a tenth of them stay for longer, so that there is something to compact."""
COUNTS = (1, 10, 1000, 5000)
"""How many entries ledgers have."""
ENTRIES_READ = 1000

DISK_BYTES_MAX = 1200 * MIB
"""Of each bookie, journals and entry logs.  About 300 MB are live in all; what was deleted since the last collection,
and journal files since the last flush, are there as well."""

ROUND_S = 60.0
"""After so long the bookies are killed, one after the other."""


class Load:
    """Creates, writes and deletes ledgers, and knows what has to be there."""

    def __init__(self, client: BookKeeper) -> None:
        self._client = client
        self._random = Random(1)
        self._live: deque[tuple[int, int]] = deque()
        self._long: list[tuple[int, int]] = []
        self.deleted: list[int] = []
        self.written_bytes = 0

    def step(self) -> None:
        """Write a ledger, and delete another one if there are enough."""
        count = self._random.choice(COUNTS)
        with self._client.create_ledger(1, 1, 1, password=b"") as writer:
            payloads = [payload(writer.ledger_id, entry_id) for entry_id in range(count)]
            writer.append_many(payloads)
            self.written_bytes += sum(map(len, payloads))
            self._live.append((writer.ledger_id, count))
        if len(self._live) > LIVE_LEDGERS:
            ledger_id, count = self._live.popleft()
            if self._random.random() < 0.1:
                self._long.append((ledger_id, count))
            else:
                self._delete(ledger_id)
        if len(self._long) > LIVE_LEDGERS // 3:
            self._delete(self._long.pop(self._random.randrange(len(self._long)))[0])

    def check(self) -> None:
        """See that all that was acknowledged is there, and that some of what was deleted is not."""
        for ledger_id, count in [*self._live, *self._long]:
            with self._client.open_ledger(ledger_id, password=b"") as reader:
                assert reader.last_add_confirmed == count - 1
                for first in range(0, count, ENTRIES_READ):
                    for entry in reader.read(first, min(first + ENTRIES_READ, count) - 1):
                        assert entry.payload == payload(ledger_id, entry.entry_id)
        for ledger_id in self._random.sample(self.deleted, min(20, len(self.deleted))):
            with pytest.raises(NoSuchLedger):
                self._client.open_ledger(ledger_id, password=b"")

    def delete_all(self) -> None:
        for ledger_id, _ in [*self._live, *self._long]:
            self._delete(ledger_id)
        self._live, self._long = deque(), []

    def _delete(self, ledger_id: int) -> None:
        self._client.delete_ledger(ledger_id)
        self.deleted.append(ledger_id)


def stored_bytes(directory: Path) -> int:
    """What a bookie has on its disk but for its journals, which are as long as its configuration says."""
    return disk_bytes(directory) - disk_bytes(directory, "*.txn")


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("seconds", [1200])
def test_disk_and_memory_stay_bounded_while_ledgers_come_and_go(tmp_path: Path, seconds: int) -> None:
    with LocalCluster(tmp_path, 1, settings=SETTINGS) as cluster, BookKeeper(cluster.metadata_uri) as client:
        cluster.add_bookie(settings={"ledgerStorageClass": "DbLedgerStorage"})
        directories = [bookie.directory / "data" for bookie in cluster.bookies]
        load, end_s, disk_bytes_max = Load(client), time.monotonic() + seconds, 0
        while time.monotonic() < end_s:
            round_end_s = min(time.monotonic() + ROUND_S, end_s)
            while time.monotonic() < round_end_s:
                for _ in range(20):
                    load.step()
                disk_bytes_max = max(disk_bytes_max, *map(disk_bytes, directories))
                assert disk_bytes_max < DISK_BYTES_MAX
            for index, bookie in enumerate(cluster.bookies):
                assert bookie.pid is not None
                assert usage(bookie.pid).resident_bytes_max < MEMORY_BYTES_MAX
                cluster.kill(index)
                cluster.restart(index)
            load.check()
        print(f"{load.written_bytes / MIB:.0f} MiB written, at most {disk_bytes_max / MIB:.0f} MiB on a disk")
        load.delete_all()
        assert poll(lambda: sum(map(stored_bytes, directories)) < load.written_bytes / 100, timeout_s=60)
        load.check()

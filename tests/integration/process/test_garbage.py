"""Garbage collection and compaction of bookies in processes of their own."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from bookkeeper_tx.blocking import BookKeeper
from bookkeeper_tx.cli.bookie.gc import gc
from bookkeeper_tx.errors import NoSuchLedger
from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.ports import choose_port
from tests.integration.support.disk_bytes import disk_bytes
from tests.integration.support.our_client import poll

SETTINGS = {
    "gcWaitTime": 200,
    "minorCompactionInterval": 1,
    "majorCompactionInterval": 2,
    "majorCompactionThreshold": 0.9,
    "compactionRateByEntries": 1_000_000,
    "flushInterval": 200,
    "logSizeLimit": 1_000_000,
    "journalMaxSizeMB": 1,
    "journalPreAllocSizeMB": 1,
}
PAYLOADS = [bytes([index % 256]) * 1000 for index in range(400)]


@pytest.fixture
def ledger_storage_class() -> str:
    return "SortedLedgerStorage"


@pytest.fixture
def cluster(tmp_path: Path, ledger_storage_class: str) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path, 1, settings=SETTINGS | {"ledgerStorageClass": ledger_storage_class}) as cluster:
        yield cluster


def log_bytes(cluster: LocalCluster) -> int:
    return disk_bytes(cluster.bookies[0].directory / "data", "*.log")


def write(client: BookKeeper) -> int:
    with client.create_ledger(1, 1, 1, password=b"") as writer:
        writer.append_many(PAYLOADS)
        return writer.ledger_id


def read(client: BookKeeper, ledger_id: int) -> list[bytes]:
    with client.open_ledger(ledger_id, password=b"") as reader:
        return [bytes(entry.payload) for entry in reader.read(0, len(PAYLOADS) - 1)]


def test_the_disk_of_deleted_ledgers_comes_back_and_other_ledgers_stay(cluster: LocalCluster) -> None:
    with BookKeeper(cluster.metadata_uri) as client:
        ledgers = [write(client) for _ in range(12)]
        kept, deleted = ledgers[::3], [each for each in ledgers if each not in ledgers[::3]]
        for ledger_id in deleted:
            client.delete_ledger(ledger_id)
        assert poll(lambda: log_bytes(cluster) < 3_500_000, timeout_s=60), log_bytes(cluster)
        for ledger_id in kept:
            assert read(client, ledger_id) == PAYLOADS
        cluster.kill(0)
        cluster.restart(0)
        for ledger_id in kept:
            assert read(client, ledger_id) == PAYLOADS
            client.delete_ledger(ledger_id)
        assert poll(lambda: log_bytes(cluster) < 120_000, timeout_s=60), log_bytes(cluster)
        with pytest.raises(NoSuchLedger):
            read(client, kept[0])
        assert read(client, write(client)) == PAYLOADS


@pytest.mark.parametrize("ledger_storage_class", ["SortedLedgerStorage", "DbLedgerStorage"])
def test_kills_amid_collections_lose_nothing(cluster: LocalCluster) -> None:
    with BookKeeper(cluster.metadata_uri) as client:
        kept = []
        for _ in range(4):
            ledgers = [write(client) for _ in range(4)]
            kept.append(ledgers[0])
            for ledger_id in ledgers[1:]:
                client.delete_ledger(ledger_id)
            assert poll(lambda: "garbage" in cluster.bookies[0].log, timeout_s=60)
            cluster.kill(0)
            cluster.restart(0)
        for ledger_id in kept:
            assert read(client, ledger_id) == PAYLOADS


def test_an_operator_asks_for_a_collection(tmp_path: Path) -> None:
    port = choose_port()
    seldom = {"gcWaitTime": 3_600_000, "minorCompactionInterval": 7200, "majorCompactionInterval": 86400}
    settings = SETTINGS | seldom | {"httpServerEnabled": "true", "httpServerPort": port}
    with LocalCluster(tmp_path, 1, settings=settings) as cluster, BookKeeper(cluster.metadata_uri) as client:
        for ledger_id in [write(client) for _ in range(4)]:
            client.delete_ledger(ledger_id)
        assert cluster.stop_bookie(0) == 0, "all is flushed, and all logs are finished"
        assert log_bytes(cluster) > 1_600_000
        cluster.restart(0)
        asked = CliRunner().invoke(gc, ["--http", f"127.0.0.1:{port}", "--major", "--wait", "--json"])
        assert asked.exit_code == 0, asked.output
        assert json.loads(asked.stdout)["collecting"] is False
        assert log_bytes(cluster) < 120_000


@pytest.mark.full
def test_a_bookie_stops_cleanly_while_it_collects(cluster: LocalCluster) -> None:
    with BookKeeper(cluster.metadata_uri) as client:
        ledgers = [write(client) for _ in range(6)]
        for ledger_id in ledgers[1:]:
            client.delete_ledger(ledger_id)
    assert cluster.stop_bookie(0) == 0
    assert "error" not in cluster.bookies[0].log.lower()

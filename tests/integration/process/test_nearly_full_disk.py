"""A cluster for tests works as ever when the disk of who runs them is nearly full."""

from pathlib import Path

from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support.our_client import OurClient, append, poll
from tests.integration.support.small_disk import SIZE_BYTES, small_disk

FREE_BYTES = SIZE_BYTES // 11
"""Less than a tenth of the disk: by its defaults a bookie would keep no old journal file."""

PAYLOADS = [bytes(100_000)] * 11


def test_a_bookie_of_a_test_keeps_the_habits_of_a_disk_with_room(tmp_path: Path) -> None:
    settings = {"journalMaxSizeMB": 1, "journalPreAllocSizeMB": 1, "flushInterval": 100, "diskCheckInterval": 100}
    data = tmp_path / "bookie-0" / "data"
    with small_disk(data):
        (data / "filling").write_bytes(bytes(SIZE_BYTES - FREE_BYTES))
        with LocalCluster(tmp_path, 1, settings=settings) as cluster:
            with OurClient(cluster.metadata_uri) as client:
                writer = client.create_ledger()
                append(writer, PAYLOADS)
                append(writer, PAYLOADS[:1])
            assert poll(lambda: list(data.rglob("current/*.log")))
            assert "nearly full" not in cluster.bookies[0].log
            assert len(list(data.rglob("*.txn"))) > 1

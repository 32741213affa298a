"""A bookie that is killed, and starts on a full disk: it serves what it has, and takes adds when there is room."""

from pathlib import Path

import pytest

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support.our_client import OurClient, append, append_and_close, poll, wait_for
from tests.integration.support.payloads import payloads
from tests.integration.support.small_disk import full, small_disk

SETTINGS = {
    "flushInterval": 300,
    "diskCheckInterval": 300,
    "journalPreAllocSizeMB": 1,
    "diskUsageThreshold": 0.95,
    "diskUsageWarnThreshold": 0.90,
}
COUNT = 500


@pytest.mark.full
@pytest.mark.parametrize("storage", ["DbLedgerStorage", "SortedLedgerStorage"])
def test_it_serves_what_it_has_and_takes_adds_when_there_is_room(tmp_path: Path, storage: str) -> None:
    if storage == "DbLedgerStorage":
        pytest.importorskip("rocksdict")
    cluster = LocalCluster(tmp_path, 1, settings={**SETTINGS, "ledgerStorageClass": storage})
    data = cluster.bookies[0].directory / "data"
    with small_disk(data), cluster, OurClient(cluster.metadata_uri) as client:

        def stored(ledger_id: int) -> list[bytes]:
            return [each.payload for each in wait_for(client.open_ledger(ledger_id).read, 0, COUNT - 1)]

        flushed = append_and_close(client.create_ledger(1, 1, 1), payloads(COUNT))
        assert poll(lambda: list(data.rglob("current/*.log")))
        unflushed = client.create_ledger(1, 1, 1)
        append(unflushed, payloads(COUNT))
        with full(data):
            cluster.kill(0)
            cluster.restart(0)
            assert stored(flushed) == payloads(COUNT)
            with pytest.raises(BookKeeperError):
                append(unflushed, [b"no room"])
            assert stored(flushed) == payloads(COUNT)

        def takes_adds() -> bool:
            try:
                append(client.create_ledger(1, 1, 1), [b"again"])
            except BookKeeperError:
                return False
            return True

        assert poll(takes_adds), "there is room, and no adds are taken"
        cluster.kill(0)
        cluster.restart(0)
        assert stored(flushed) == stored(unflushed.ledger_id) == payloads(COUNT)

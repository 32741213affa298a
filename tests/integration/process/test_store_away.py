"""A ZooKeeper that answers nothing for a minute, while ledgers are written and read."""

import time
from pathlib import Path

import pytest

from bookkeeper_tx.blocking import BookKeeper
from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata.blocking.store import open_blocking_store
from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.zookeeper import ZooKeeper
from tests.integration.support.our_client import poll

pytestmark = [pytest.mark.java, pytest.mark.full]

AWAY_S = 60


def test_ledgers_that_are_open_are_written_and_read_while_zookeeper_is_away(tmp_path: Path) -> None:
    with ZooKeeper(tmp_path / "zookeeper") as zookeeper:
        uri = f"zk+hierarchical://{zookeeper.hosts}/ledgers"
        with LocalCluster(tmp_path / "bookies", 3, metadata_uri=uri) as bookies, BookKeeper(uri) as client:
            writer = client.create_ledger(3, 3, 2, password=b"pw")
            writer.append_many([b"%d" % number for number in range(10)])
            reader = client.open_ledger_no_recovery(writer.ledger_id, password=b"pw")
            zookeeper.pause()
            until = time.monotonic() + AWAY_S
            count = 10
            while time.monotonic() < until:
                writer.append_many([b"%d" % number for number in range(count, count + 10)])
                count += 10
                last = reader.read_last_add_confirmed()
                assert last >= count - 11  # the first entry of a batch confirms the batch before
                assert [bytes(entry.payload) for entry in reader.read(last, last)] == [b"%d" % last]
                time.sleep(0.2)
            with pytest.raises(MetadataUnavailable):
                client.create_ledger(3, 3, 2, password=b"pw")
            zookeeper.resume()
            with open_blocking_store(uri, 60.0) as store:
                assert poll(lambda: store.writable_bookies() == set(bookies.bookie_ids))
            writer.close()
            with client.open_ledger(writer.ledger_id, password=b"pw") as again:
                assert again.last_add_confirmed == count - 1
            with client.create_ledger(3, 3, 2, password=b"pw") as after:
                after.append(b"after")

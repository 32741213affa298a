"""The ledgers that jobs work on in tests: one of each kind."""

from typing import Any

from attrs import frozen

from bookkeeper_tx.model import DigestType, LedgerId
from bookkeeper_tx.spark.jobs.arguments import Cluster
from bookkeeper_tx.spark.jobs.summary import Summary
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.support.our_client import OurClient, append, append_and_close, wait_for
from tests.integration.support.payloads import payloads

COUNT = 120
OPEN_COUNT = 7
SECRET = b"secret"


@frozen
class Filled:
    """A cluster of three bookies and its ledgers."""

    cluster: LocalCluster
    whole: int
    striped: int
    mac: int
    open: int
    scoped: int
    deleted: int

    def source(self, **options: str) -> Cluster:
        return Cluster(self.cluster.metadata_uri, options)

    @property
    def bookies(self) -> list[str]:
        return self.cluster.bookie_ids[:3]


def fill(cluster: LocalCluster, client: OurClient) -> Filled:
    whole = append_and_close(client.create_ledger(3, 3, 2), payloads(COUNT))
    striped = append_and_close(client.create_ledger(3, 2, 2), payloads(COUNT))
    mac = append_and_close(client.create_ledger(3, 2, 2, digest=DigestType.MAC, password=SECRET), payloads(10))
    deleted = append_and_close(client.create_ledger(3, 3, 2), payloads(COUNT))
    wait_for(client.bookkeeper.delete_ledger, deleted)
    unfinished = client.create_ledger(3, 3, 3)
    append(unfinished, payloads(OPEN_COUNT))
    append(unfinished, [b"not confirmed to anybody yet"])
    scoped = wait_for(client.bookkeeper.create_ledger, 3, 3, 3, DigestType.CRC32C, b"", ledger_id=LedgerId(5, 7))
    append_and_close(scoped, payloads(4))
    for index in range(3):
        cluster.restart(index)  # entries in memory go to the entry logs
    return Filled(cluster, whole, striped, mac, unfinished.ledger_id, scoped.ledger_id, deleted)


def rows_of(summary: Summary, title: str) -> list[tuple[Any, ...]]:
    """Return the rows of the summary's tables of this title."""
    return [row for table in summary.tables if table.title == title for row in table.rows]

"""Writers of ledgers on simulated bookies."""

from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.config import ClientConfig
from tests.client.puppets import Cluster


def writer_of(
    cluster: Cluster, sizes: tuple[int, int, int] = (3, 3, 2), config: ClientConfig | None = None
) -> LedgerWriter:
    writer: LedgerWriter = cluster.result(cluster.client(config).create_ledger(*sizes))
    return writer

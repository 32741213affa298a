"""Writers that defer syncs."""

from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.model import DigestType
from tests.client.puppets import Cluster

V3 = ClientConfig(protocol="v3")


def deferring(sizes: tuple[int, int, int] = (3, 3, 2), config: ClientConfig = V3) -> tuple[Cluster, LedgerWriter]:
    """A cluster and a writer that defers syncs."""
    cluster = Cluster()
    client = cluster.client(config)
    plain = cluster.result(client.create_ledger(*sizes))
    versioned = cluster.state.ledgers[plain.ledger_id]
    digest = EntryDigest(DigestType.CRC32C, b"")
    return cluster, LedgerWriter(client._context, plain.ledger_id, versioned, digest, deferred_sync=True)


def append(cluster: Cluster, writer: LedgerWriter, count: int = 1) -> None:
    for _ in range(count):
        cluster.result(writer.append(b"payload"))
    cluster.network.run()

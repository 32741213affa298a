"""Ledgers that are still being written, with a reader of each."""

from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from tests.client.puppets import Cluster


def tailed(sizes: tuple[int, int, int] = (3, 3, 2), entries: int = 5) -> tuple[Cluster, LedgerWriter, LedgerReader]:
    """Return a cluster, a writer that has appended ``entries``, and a reader opened without recovery."""
    cluster = Cluster()
    writer = cluster.result(cluster.client().create_ledger(*sizes, password=b"pw"))
    for index in range(entries):
        cluster.result(writer.append(b"entry %d" % index))
    cluster.network.run()
    reader = cluster.result(cluster.client().open_ledger_no_recovery(writer.ledger_id, b"pw"))
    return cluster, writer, reader

"""The class of ledger storage, by Java's ``ledgerStorageClass``."""

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.storage.db.indexes import DbIndexes
from bookkeeper_tx.bookie.storage.index_writer import IndexWriter
from bookkeeper_tx.bookie.storage.indexes import Indexes, WritesIndexes
from bookkeeper_tx.bookie.storage.ledger_index import LedgerIndexes
from bookkeeper_tx.config import BookieConfig


def indexes_of(disk: Disk, directory: str, config: BookieConfig) -> tuple[Indexes, WritesIndexes]:
    """Return what reads and what writes the indexes in a directory, by the class that ``config`` names."""
    if config.ledger_storage_class == "DbLedgerStorage":
        db = DbIndexes(disk, directory, config)
        return db, db
    files = LedgerIndexes(disk, directory, config.open_index_files_max)
    return files, IndexWriter(disk, files)

"""The class of ledger storage, by Java's ``ledgerStorageClass``."""

import random
from collections.abc import Callable, Sequence

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.space import LedgerDisks
from bookkeeper_tx.bookie.storage.db.indexes import DbIndexes
from bookkeeper_tx.bookie.storage.index_directories import IndexDirectories
from bookkeeper_tx.bookie.storage.index_writer import IndexWriter
from bookkeeper_tx.bookie.storage.indexes import Indexes, WritesIndexes
from bookkeeper_tx.bookie.storage.ledger_index import LedgerIndexes
from bookkeeper_tx.config import BookieConfig


def indexes_of(
    disk: Disk, disks: LedgerDisks, config: BookieConfig, choose: Callable[[Sequence[str]], str] = random.choice
) -> tuple[Indexes, WritesIndexes]:
    """Return what reads and what writes the indexes in the directories of ``disks``, by the class in ``config``.

    ``choose`` picks the directory of a new index file.
    """
    directory, *more = disks.spaces
    if config.ledger_storage_class == "DbLedgerStorage":
        db = DbIndexes(disk, directory, config)
        return db, db
    if more:
        several = IndexDirectories(disk, disks, config.open_index_files_max, choose)
        return several, several
    files = LedgerIndexes(disk, directory, config.open_index_files_max)
    return files, IndexWriter(disk, files)

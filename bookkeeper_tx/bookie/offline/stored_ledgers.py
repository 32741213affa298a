"""The ledgers on the disks of a bookie that does not run: indexes, in files or databases, and entry logs."""

from collections.abc import Iterator
from typing import Protocol

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.key_values import KeyValues
from bookkeeper_tx.bookie.offline.entry_logs import EntryLogs
from bookkeeper_tx.bookie.offline.index_files import IndexFiles
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.bookie.storage.db.indexes import DbIndexes
from bookkeeper_tx.bookie.storage.indexes import Indexes
from bookkeeper_tx.bookie.storage.several.homes import check_homes, home_of, share_of
from bookkeeper_tx.config import BookieConfig
from protocol_specs.disk.db_index import LEDGERS, LOCATIONS


class StoredLedgers(Protocol):
    """Finds the index and the entry logs of each ledger.  Calls block."""

    def ledger_ids(self) -> Iterator[int]:
        """Give the ledgers that have an index."""

    def find(self, ledger_id: int) -> Indexes | None:
        """Return the indexes that have a ledger; None if none has."""

    def logs_of(self, ledger_id: int) -> EntryLogs:
        """Return the logs in which its entries are."""

    def close(self) -> None:
        """Close the files."""


class InFiles:
    """With index files, which may be in any directory, as entry logs may."""

    def __init__(self, disk: Disk, places: Places) -> None:
        self._indexes = IndexFiles(disk, places.index_currents)
        self._logs = EntryLogs(disk, places.ledger_currents)
        self.ledger_ids = self._indexes.ledger_ids
        self.find = self._indexes.find

    def logs_of(self, ledger_id: int) -> EntryLogs:
        return self._logs

    def close(self) -> None:
        self._indexes.close()
        self._logs.close()


class _ReadingDisk(Disk):
    """Writes nothing where a database is."""

    def open_key_values(self, path: str, config: BookieConfig) -> KeyValues:
        from bookkeeper_tx.bookie.rocks_db import RocksDb  # only here: it needs rocksdict

        return RocksDb(path, config, reading_only=True)


class InDatabases:
    """With the databases of DbLedgerStorage: all of a ledger is in the directory of its home.

    Raises RefusedToStart, InvalidArgument, OSError.
    """

    def __init__(self, places: Places) -> None:
        places.require_index_for_each_ledger()
        disk, ledgers, indexes = _ReadingDisk(), places.ledger_currents, places.index_currents
        config = BookieConfig(metadata_uri="", journal_directory="", ledger_directory=places.ledger[0])
        share = share_of(config, len(indexes))
        self._indexes = [DbIndexes(disk, current, share) for current in indexes]
        self._logs = [EntryLogs(disk, [current]) for current in ledgers]
        try:
            for at, each in enumerate(self._indexes):
                each.open()
                check_homes(each.ledger_ids(), at, ledgers)
        except BaseException:
            self.close()
            raise

    def ledger_ids(self) -> Iterator[int]:
        for each in self._indexes:
            yield from each.ledger_ids()

    def find(self, ledger_id: int) -> Indexes | None:
        indexes = self._indexes[home_of(ledger_id, len(self._indexes))]
        return indexes if indexes.has(ledger_id) else None

    def logs_of(self, ledger_id: int) -> EntryLogs:
        return self._logs[home_of(ledger_id, len(self._logs))]

    def close(self) -> None:
        for indexes, logs in zip(self._indexes, self._logs, strict=True):
            indexes.close()
            logs.close()


def stored_ledgers(disk: Disk, places: Places) -> StoredLedgers:
    """Open what is there.  Raises RefusedToStart, InvalidArgument, OSError."""
    names = {name for current in places.index_currents for name in disk.list_directory(current)}
    return InDatabases(places) if names & {LEDGERS, LOCATIONS} else InFiles(disk, places)

"""Ledgers and bookies in an SQLite file, as values.  Blocking; one thread, and sqlite3's own errors."""

import secrets
from collections.abc import Callable

from bookkeeper_tx.errors import BookieUnavailable
from bookkeeper_tx.metadata import service_info
from bookkeeper_tx.metadata.ledger_record.serialization import as_created, as_update, parse, serialize
from bookkeeper_tx.metadata.sqlite.bookie_locks import BookieLocks
from bookkeeper_tx.metadata.sqlite.documents import SqliteDocuments
from bookkeeper_tx.metadata.sqlite.named_records import SqliteNamedRecords
from bookkeeper_tx.metadata.sqlite.tables import Tables
from bookkeeper_tx.model import BookieId, BookieServiceInfo, LedgerMetadata, Versioned

_Row = tuple[BookieId, bool, bytes]


class SqliteRecords:
    """The records in the file at ``path``; the lock files of the bookies are in ``path + ".bookies"``."""

    def __init__(
        self,
        path: str,
        busy_timeout_s: float | None = None,
        draw_token: Callable[[int], int] = secrets.randbits,
    ) -> None:
        self.tables = Tables(path, busy_timeout_s)
        self.locks = BookieLocks(path + ".bookies")
        self.documents = SqliteDocuments(self.tables)
        self.named = SqliteNamedRecords(self.tables)
        self._draw_token = draw_token

    def close(self) -> None:
        """Unregister the bookies that were registered here, and close the file."""
        try:
            for bookie_id in self.locks.held:
                self.unregister(bookie_id)
        finally:
            for bookie_id in self.locks.held:
                self.locks.release(bookie_id)
            self.tables.close()

    # Ledgers ------------------------------------------------------------------------------------------------------

    def create_ledger(self, ledger_id: int, metadata: LedgerMetadata) -> Versioned:
        created = as_created(metadata, self._draw_token)
        return Versioned(created, self.tables.insert_ledger(ledger_id, serialize(created)))

    def read_ledger(self, ledger_id: int) -> Versioned:
        record, version = self.tables.ledger(ledger_id)
        return Versioned(parse(record, ledger_id), version)

    def write_ledger(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned:
        updated = as_update(metadata)
        return Versioned(updated, self.tables.update_ledger(ledger_id, serialize(updated), version))

    # Bookies ------------------------------------------------------------------------------------------------------

    def register(self, bookie_id: BookieId, info: BookieServiceInfo, read_only: bool) -> None:
        """Take the bookie's lock, unless it is held here already, and enter the bookie in the table."""
        fresh = self.locks.acquire(bookie_id)
        try:
            self.tables.put_bookie(bookie_id, read_only, service_info.serialize(info))
        except BaseException:
            if fresh:
                self.locks.release(bookie_id)
            raise

    def unregister(self, bookie_id: BookieId) -> None:
        if bookie_id in self.locks.held:
            try:
                self.tables.delete_bookie(bookie_id)
            finally:
                self.locks.release(bookie_id)

    def registered(self) -> tuple[_Row, ...]:
        """Return id, whether read-only, and info of the bookies whose processes hold their locks."""
        return tuple(row for row in self.tables.bookies() if self.locks.is_held(row[0]))

    def writable_bookies(self) -> frozenset[BookieId]:
        return frozenset(bookie_id for bookie_id, read_only, _ in self.registered() if not read_only)

    def read_only_bookies(self) -> frozenset[BookieId]:
        return frozenset(bookie_id for bookie_id, read_only, _ in self.registered() if read_only)

    def bookie_info(self, bookie_id: BookieId) -> BookieServiceInfo:
        for each, _, info in self.registered():
            if each == bookie_id:
                return service_info.parse(info, bookie_id)
        raise BookieUnavailable(f"bookie {bookie_id} is not registered")

"""The metadata store in an SQLite file for programs without a reactor."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from bookkeeper_tx.errors import BookKeeperError, MetadataCorrupt, MetadataUnavailable, NoSuchLedger
from bookkeeper_tx.metadata.blocking.opened import Opened
from bookkeeper_tx.metadata.documents import DocumentPath
from bookkeeper_tx.metadata.sqlite.errors import translated
from bookkeeper_tx.metadata.sqlite.records import SqliteRecords
from bookkeeper_tx.metadata.watches import BOOKIES, Key
from bookkeeper_tx.model import BookieId, BookieServiceInfo, LedgerMetadata, Versioned, check_ledger_id


class BlockingSqliteStore(Opened):
    """The store in the file at ``path``, which other processes use at the same time."""

    def __init__(self, path: str, busy_timeout_s: float) -> None:
        """``busy_timeout_s`` is how long a statement waits for another process's transaction."""
        self._path = path
        self._records = SqliteRecords(path, busy_timeout_s)
        self._tables = self._records.tables
        self._documents = self._records.documents
        self._named = self._records.named
        self._closed = False

    def open(self) -> None:
        """Open the file; raises MetadataUnavailable if there is none."""
        self.instance_id()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._records.close()

    def instance_id(self) -> str | None:
        instance_id: str = self._do(self._tables.instance_id)
        return instance_id

    # Ledgers ------------------------------------------------------------------------------------------------------

    def new_ledger_id(self) -> int:
        return int(self._do(self._tables.next_ledger_id))

    def create_ledger(self, ledger_id: int, metadata: LedgerMetadata) -> Versioned:
        return self._versioned(self._records.create_ledger, check_ledger_id(ledger_id), metadata)

    def read_ledger(self, ledger_id: int) -> Versioned:
        return self._versioned(self._records.read_ledger, ledger_id)

    def read_ledgers(self, ledger_ids: Iterable[int]) -> Iterator[tuple[int, Versioned | BookKeeperError]]:
        for ledger_id in ledger_ids:
            try:
                yield ledger_id, self.read_ledger(ledger_id)
            except NoSuchLedger as error:
                yield ledger_id, error
            except MetadataCorrupt as error:
                if isinstance(error.__cause__, sqlite3.Error):
                    raise  # the file, and not this record
                yield ledger_id, error

    def write_ledger(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned:
        return self._versioned(self._records.write_ledger, ledger_id, metadata, version)

    def delete_ledger(self, ledger_id: int) -> None:
        self._do(self._tables.delete_ledger, ledger_id)

    def list_ledgers(self, scope_id: int | None = 0) -> list[int]:
        found: list[int] = self._do(self._tables.ledger_ids, scope_id)
        return found

    # Bookies ------------------------------------------------------------------------------------------------------

    def writable_bookies(self) -> frozenset[BookieId]:
        return frozenset(self._do(self._records.writable_bookies))

    def read_only_bookies(self) -> frozenset[BookieId]:
        return frozenset(self._do(self._records.read_only_bookies))

    def bookie_info(self, bookie_id: BookieId) -> BookieServiceInfo:
        info: BookieServiceInfo = self._do(self._records.bookie_info, bookie_id)
        return info

    def cookie_bookies(self) -> frozenset[BookieId]:
        return frozenset(self._do(self._tables.cookie_bookies))

    # Changes ------------------------------------------------------------------------------------------------------

    tells = False

    def stamps(self, keys: Collection[Key], changed: Callable[[Key | None], None]) -> dict[Key, Any]:
        stamps: dict[Key, Any] = self._do(self._tables.ledger_versions, [key for key in keys if key != BOOKIES])
        if BOOKIES in keys:
            stamps[BOOKIES] = self.writable_bookies()
        return stamps

    def forget(self, key: Key) -> None:
        """Does nothing: it does not tell."""

    # Named records ------------------------------------------------------------------------------------------------

    def read_record(self, path: DocumentPath) -> tuple[bytes, int] | None:
        found: tuple[bytes, int] | None = self._do(self._named.read, path)
        return found

    def write_record(self, path: DocumentPath, data: bytes, version: int | None) -> int:
        return int(self._do(self._named.write, path, data, version))

    def delete_record(self, path: DocumentPath, version: int) -> None:
        self._do(self._named.delete, path, version)

    def list_records(self, path: DocumentPath) -> list[str]:
        return list(self._do(self._named.names, path))

    # Documents ----------------------------------------------------------------------------------------------------

    def create_document(self, path: DocumentPath, data: bytes) -> bool:
        return bool(self._do(self._documents.create, path, data))

    def read_document(self, path: DocumentPath) -> bytes | None:
        data: bytes | None = self._do(self._documents.read, path)
        return data

    def list_documents(self, path: DocumentPath) -> list[str]:
        return list(self._do(self._documents.names, path))

    def delete_document(self, path: DocumentPath) -> None:
        self._do(self._documents.delete, path)

    # ---------------------------------------------------------------------------------------------------------------

    def _versioned(self, function: Callable[..., Versioned], *args: Any) -> Versioned:
        versioned: Versioned = self._do(function, *args)
        return versioned

    def _do(self, function: Callable[..., Any], *args: Any) -> Any:
        if self._closed:
            raise MetadataUnavailable(f"the metadata store {self._path} was closed")
        return translated(self._path, function, *args)

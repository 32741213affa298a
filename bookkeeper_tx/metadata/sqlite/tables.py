"""The tables of the SQLite store and the operations on them, blocking.  One connection, used by one thread.

Write-ahead logging: readers do not wait for the writer, a commit syncs one file once, and a process that is killed in
the middle of a commit leaves nothing that others have to undo first.  Its price is that all processes must be on one
machine, which the kernel locks of :mod:`~bookkeeper_tx.metadata.sqlite.bookie_locks` ask for anyway.
"""

import os
import sqlite3
import uuid
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from bookkeeper_tx.errors import LedgerExists, MetadataConflict, MetadataUnavailable, NoSuchLedger
from bookkeeper_tx.metadata.sqlite.file import APPLICATION_ID, SCHEMA_VERSION, is_ours, transaction, turn_on_wal
from bookkeeper_tx.model import BookieId, ledger_name
from protocol_specs import ledger_id as ids

BUSY_TIMEOUT_S = 10.0
"""How long a statement waits for other processes' transactions; each takes a few fsyncs, and waiters have no queue."""

_SCHEMA = (
    "CREATE TABLE cluster (name TEXT PRIMARY KEY, value NOT NULL)",
    "CREATE TABLE ledgers (ledger_id INTEGER PRIMARY KEY, version INTEGER NOT NULL, record BLOB NOT NULL)",
    "CREATE TABLE cookies (bookie_id TEXT PRIMARY KEY, version INTEGER NOT NULL, cookie BLOB NOT NULL)",
    "CREATE TABLE bookies (bookie_id TEXT PRIMARY KEY, read_only INTEGER NOT NULL, info BLOB NOT NULL)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)

_SCOPED_SCHEMA = """
    CREATE TABLE IF NOT EXISTS scoped_ledgers
        (qualified_name TEXT PRIMARY KEY, version INTEGER NOT NULL, record BLOB NOT NULL) WITHOUT ROWID
"""
"""The ledgers of all scopes but 0, named by 32 hexadecimal digits; made with the first of them.

The schema's version stays, and so does the table of scope 0: releases without scopes go on reading and writing the
same file, and find the ledgers of scope 0 in it.
"""


class Tables:
    """The database file at ``path``; opened when first needed, created by :meth:`create` only."""

    def __init__(self, path: str, busy_timeout_s: float | None = None) -> None:
        self._path = path
        self._busy_timeout_s = BUSY_TIMEOUT_S if busy_timeout_s is None else busy_timeout_s
        self._connection: sqlite3.Connection | None = None
        self._data_version: int | None = None
        self._has_scopes = False

    # The file -----------------------------------------------------------------------------------------------------

    def create(self) -> bool:
        """Make file and tables unless there are any; return whether this call made them."""
        os.makedirs(os.path.dirname(self._path) or ".", exist_ok=True)
        connection = self._connect("rwc")
        try:
            if is_ours(connection, self._path):  # before any change: the file may be somebody else's
                return False
            turn_on_wal(connection, self._busy_timeout_s)
            with transaction(connection):
                if is_ours(connection, self._path):
                    return False
                for statement in _SCHEMA:
                    connection.execute(statement)
                values = [("instance_id", str(uuid.uuid4())), ("next_ledger_id", 0)]
                connection.executemany("INSERT INTO cluster VALUES (?, ?)", values)
                return True
        finally:
            connection.close()

    def close(self) -> None:
        """Close the file, if it is open."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def opened(self) -> sqlite3.Connection:
        """Return the connection, opened if need be; raises MetadataUnavailable if there is no store."""
        if self._connection is None:
            if not os.path.exists(self._path):
                raise MetadataUnavailable(f"no metadata store at {self._path}: make one with `bktx cluster init`")
            connection = self._connect("rw")
            try:
                if not is_ours(connection, self._path):
                    raise MetadataUnavailable(f"the metadata store at {self._path} is being made, or is empty")
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _connect(self, mode: str) -> sqlite3.Connection:
        uri = f"file:{quote(os.path.abspath(self._path))}?mode={mode}"
        # isolation_level None: only :func:`transaction` begins transactions, and they can write from the start.
        connection = sqlite3.connect(uri, uri=True, timeout=self._busy_timeout_s, isolation_level=None)
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _rows(self, statement: str, *values: Any) -> list[Any]:
        return self.opened().execute(statement, values).fetchall()

    def _row(self, statement: str, *values: Any) -> Any:
        return self.opened().execute(statement, values).fetchone()

    # The cluster --------------------------------------------------------------------------------------------------

    def instance_id(self) -> str:
        return str(self._row("SELECT value FROM cluster WHERE name = 'instance_id'")[0])

    def next_ledger_id(self) -> int:
        with transaction(self.opened()) as connection:
            (ledger_id,) = self._row("SELECT value FROM cluster WHERE name = 'next_ledger_id'")
            connection.execute("UPDATE cluster SET value = value + 1 WHERE name = 'next_ledger_id'")
            return int(ledger_id)

    # Ledgers ------------------------------------------------------------------------------------------------------

    def insert_ledger(self, ledger_id: int, record: bytes) -> int:
        table, _, key = _place(ledger_id)
        with transaction(self.opened()) as connection:
            if ledger_id >= ids.SCOPED_MIN:
                connection.execute(_SCOPED_SCHEMA)
            if self._ledger("1", ledger_id):
                raise LedgerExists(f"ledger {ledger_name(ledger_id)} exists already")
            connection.execute(f"INSERT INTO {table} VALUES (?, 0, ?)", (key, record))
            return 0

    def ledger(self, ledger_id: int) -> tuple[bytes, int]:
        row = self._ledger("record, version", ledger_id)
        if row is None:
            raise NoSuchLedger(f"there is no ledger {ledger_name(ledger_id)}")
        return bytes(row[0]), int(row[1])

    def update_ledger(self, ledger_id: int, record: bytes, version: int) -> int:
        table, column, key = _place(ledger_id)
        with transaction(self.opened()) as connection:
            current = self.ledger(ledger_id)[1]
            if current != version:
                raise MetadataConflict(
                    f"metadata of ledger {ledger_name(ledger_id)} has version {current}, not {version}"
                )
            connection.execute(
                f"UPDATE {table} SET record = ?, version = ? WHERE {column} = ?", (record, version + 1, key)
            )
            return version + 1

    def delete_ledger(self, ledger_id: int) -> None:
        table, column, key = _place(ledger_id)
        with transaction(self.opened()) as connection:
            self.ledger(ledger_id)
            connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (key,))

    def ledger_ids(self, scope_id: int | None) -> list[int]:
        """Return the ids of a scope, of all scopes for None, ascending."""
        found: list[int] = []
        if not scope_id:
            # Row by row: a million rows at once would take three times the memory of their ids.
            found += [each for (each,) in self.opened().execute("SELECT ledger_id FROM ledgers ORDER BY ledger_id")]
        if scope_id != 0 and self._scopes_are_there():
            first = 0 if scope_id is None else ids.join(scope_id, 0)
            last = ids.QUALIFIED_ID_MAX if scope_id is None else first | ids.SCOPED_MIN - 1
            statement = "SELECT qualified_name FROM scoped_ledgers WHERE qualified_name BETWEEN ? AND ? ORDER BY 1"
            names = self.opened().execute(statement, (ids.qualified_name(first), ids.qualified_name(last)))
            found += [ids.of_qualified_name(name) for (name,) in names]
        return found

    def ledger_versions(self, ledger_ids: Iterable[int]) -> dict[int, int | None]:
        """Return the version of each ledger, None for one that does not exist."""
        versions: dict[int, int | None] = {}
        for ledger_id in ledger_ids:
            row = self._ledger("version", ledger_id)
            versions[ledger_id] = row and row[0]
        return versions

    def _ledger(self, columns: str, ledger_id: int) -> Any:
        if ledger_id >= ids.SCOPED_MIN and not self._scopes_are_there():
            return None
        table, column, key = _place(ledger_id)
        return self._row(f"SELECT {columns} FROM {table} WHERE {column} = ?", key)

    def _scopes_are_there(self) -> bool:
        if not self._has_scopes:
            self._has_scopes = self._row("SELECT 1 FROM sqlite_master WHERE name = 'scoped_ledgers'") is not None
        return self._has_scopes

    # Cookies ------------------------------------------------------------------------------------------------------

    def cookie(self, bookie_id: BookieId) -> tuple[bytes, int] | None:
        row = self._row("SELECT cookie, version FROM cookies WHERE bookie_id = ?", bookie_id)
        return (bytes(row[0]), int(row[1])) if row else None

    def cookie_bookies(self) -> list[BookieId]:
        """Return the bookies that have a cookie."""
        return [bookie_id for (bookie_id,) in self._rows("SELECT bookie_id FROM cookies")]

    def put_cookie(self, bookie_id: BookieId, cookie: bytes, version: int | None) -> int:
        with transaction(self.opened()) as connection:
            self._expect_cookie(bookie_id, version)
            after = 0 if version is None else version + 1
            connection.execute("REPLACE INTO cookies VALUES (?, ?, ?)", (bookie_id, after, cookie))
            return after

    def delete_cookie(self, bookie_id: BookieId, version: int) -> None:
        with transaction(self.opened()) as connection:
            self._expect_cookie(bookie_id, version)
            connection.execute("DELETE FROM cookies WHERE bookie_id = ?", (bookie_id,))

    def _expect_cookie(self, bookie_id: BookieId, version: int | None) -> None:
        current = self.cookie(bookie_id)
        if version != (None if current is None else current[1]):
            state = "does not exist" if current is None else f"has version {current[1]}"
            raise MetadataConflict(f"the cookie of bookie {bookie_id} {state}, expected was {version}")

    # Bookies ------------------------------------------------------------------------------------------------------

    def put_bookie(self, bookie_id: BookieId, read_only: bool, info: bytes) -> None:
        with transaction(self.opened()) as connection:
            connection.execute("REPLACE INTO bookies VALUES (?, ?, ?)", (bookie_id, int(read_only), info))

    def delete_bookie(self, bookie_id: BookieId) -> None:
        with transaction(self.opened()) as connection:
            connection.execute("DELETE FROM bookies WHERE bookie_id = ?", (bookie_id,))

    def bookies(self) -> list[tuple[BookieId, bool, bytes]]:
        """Return id, whether read-only, and info of all that have registered, alive or not."""
        rows = self._rows("SELECT bookie_id, read_only, info FROM bookies ORDER BY bookie_id")
        return [(bookie_id, bool(read_only), bytes(info)) for bookie_id, read_only, info in rows]

    # Changes ------------------------------------------------------------------------------------------------------

    def changed_by_others(self) -> bool:
        """Tell whether another connection has committed since the last call; one's own commits do not count."""
        before, (self._data_version,) = self._data_version, self._row("PRAGMA data_version")
        return before != self._data_version

    def look_again(self) -> None:
        """Let the next :meth:`changed_by_others` return True: the changes could not be read."""
        self._data_version = None


def _place(ledger_id: int) -> tuple[str, str, int | str]:
    """Return the table that has a ledger, the column of its key, and the key."""
    if ledger_id < ids.SCOPED_MIN:
        return "ledgers", "ledger_id", ledger_id
    return "scoped_ledgers", "qualified_name", ids.qualified_name(ledger_id)

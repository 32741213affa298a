"""The database file of the SQLite store: its owner, its write-ahead log, its transactions."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bookkeeper_tx.errors import InvalidConfig

APPLICATION_ID = 0x424B5458
"""``BKTX``: marks the file as a metadata store of ours."""

SCHEMA_VERSION = 1

_WAL_RETRY_INTERVAL_S = 0.02


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Write in one transaction, all or nothing."""
    # IMMEDIATE: values read in the transaction cannot change before it writes.
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def is_ours(connection: sqlite3.Connection, path: str) -> bool:
    """Tell whether the tables are there; raises InvalidConfig for somebody else's database."""
    if connection.in_transaction:
        return _seen_as_ours(connection, path)
    connection.execute("BEGIN")  # or another process may make the tables between two looks
    try:
        return _seen_as_ours(connection, path)
    finally:
        connection.execute("ROLLBACK")


def _seen_as_ours(connection: sqlite3.Connection, path: str) -> bool:
    (application_id,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application_id == APPLICATION_ID and version == SCHEMA_VERSION:
        return True
    if application_id == APPLICATION_ID:
        raise InvalidConfig(f"metadata store {path}: schema version {version}, this program knows {SCHEMA_VERSION}")
    if application_id or version or connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
        raise InvalidConfig(f"metadata store {path}: this is some other program's SQLite database; name another file")
    return False


def turn_on_wal(connection: sqlite3.Connection, timeout_s: float) -> None:
    """Turn on write-ahead logging; the busy timeout does not cover two processes that do so at once."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
        time.sleep(_WAL_RETRY_INTERVAL_S)

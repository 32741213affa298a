"""Documents in the SQLite store: a table of their own."""

from bookkeeper_tx.metadata.documents import DocumentPath, check_document
from bookkeeper_tx.metadata.sqlite.file import transaction
from bookkeeper_tx.metadata.sqlite.paths import key_of, names_below, table_is_there
from bookkeeper_tx.metadata.sqlite.tables import Tables

_TABLE = "documents"
_SCHEMA = f"CREATE TABLE IF NOT EXISTS {_TABLE} (path TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID"


class SqliteDocuments:
    """The documents in one file."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def create(self, path: DocumentPath, data: bytes) -> bool:
        """Create a document; returns False if there is one."""
        check_document(path, data)
        with transaction(self._tables.opened()) as connection:
            connection.execute(_SCHEMA)
            done = connection.execute("INSERT OR IGNORE INTO documents VALUES (?, ?)", (key_of(path), data))
            return done.rowcount == 1

    def read(self, path: DocumentPath) -> bytes | None:
        """Return the bytes of a document, None if there is none."""
        connection = self._tables.opened()
        if not table_is_there(connection, _TABLE):
            return None
        row = connection.execute("SELECT data FROM documents WHERE path = ?", (key_of(path),)).fetchone()
        return bytes(row[0]) if row else None

    def names(self, path: DocumentPath) -> list[str]:
        """Return the next names of all documents below ``path``, sorted."""
        return names_below(self._tables.opened(), _TABLE, path)

    def delete(self, path: DocumentPath) -> None:
        """Delete a document, if there is one."""
        if table_is_there(self._tables.opened(), _TABLE):
            with transaction(self._tables.opened()) as connection:
                connection.execute("DELETE FROM documents WHERE path = ?", (key_of(path),))

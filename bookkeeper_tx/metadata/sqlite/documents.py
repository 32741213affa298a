"""Documents in the SQLite store: a table of their own, made with the first of them.

The schema's version stays, as it did with scopes, so that releases without documents go on using the same file.
"""

from bookkeeper_tx.metadata.documents import DocumentPath, check_document, decoded, encoded
from bookkeeper_tx.metadata.sqlite.file import transaction
from bookkeeper_tx.metadata.sqlite.tables import Tables

_SCHEMA = "CREATE TABLE IF NOT EXISTS documents (path TEXT PRIMARY KEY, data BLOB NOT NULL) WITHOUT ROWID"


class SqliteDocuments:
    """The documents in one file; ``path`` in the table has slashes between the encoded names."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def create(self, path: DocumentPath, data: bytes) -> bool:
        """Create a document; returns False if there is one."""
        check_document(path, data)
        with transaction(self._tables.opened()) as connection:
            connection.execute(_SCHEMA)
            done = connection.execute("INSERT OR IGNORE INTO documents VALUES (?, ?)", (_key(path), data))
            return done.rowcount == 1

    def read(self, path: DocumentPath) -> bytes | None:
        """Return the bytes of a document, None if there is none."""
        if not self._is_there():
            return None
        row = self._tables.opened().execute("SELECT data FROM documents WHERE path = ?", (_key(path),)).fetchone()
        return bytes(row[0]) if row else None

    def names(self, path: DocumentPath) -> list[str]:
        """Return the next names of all documents below ``path``, sorted."""
        if not self._is_there():
            return []
        start = _key(path) + "/" if path else ""
        # After all paths that begin like this; encoded names are ASCII.
        end = start[:-1] + chr(ord("/") + 1) if path else "\x7f"
        statement = "SELECT path FROM documents WHERE path >= ? AND path < ?"
        rows = self._tables.opened().execute(statement, (start, end))
        return sorted({decoded(key[len(start) :].partition("/")[0]) for (key,) in rows})

    def delete(self, path: DocumentPath) -> None:
        """Delete a document, if there is one."""
        if self._is_there():
            with transaction(self._tables.opened()) as connection:
                connection.execute("DELETE FROM documents WHERE path = ?", (_key(path),))

    def _is_there(self) -> bool:
        rows = self._tables.opened().execute("SELECT 1 FROM sqlite_master WHERE name = 'documents'")
        return rows.fetchone() is not None


def _key(path: DocumentPath) -> str:
    return "/".join(encoded(path))

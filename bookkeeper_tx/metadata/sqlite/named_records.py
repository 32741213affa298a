"""Named records in the SQLite store: a table of their own."""

from bookkeeper_tx.metadata.documents import DocumentPath
from bookkeeper_tx.metadata.named_records import NEW_VERSION, changed_by_others, check_path, check_record
from bookkeeper_tx.metadata.sqlite.file import transaction
from bookkeeper_tx.metadata.sqlite.paths import key_of, names_below, table_is_there
from bookkeeper_tx.metadata.sqlite.tables import Tables

_TABLE = "records"
_SCHEMA = f"""
    CREATE TABLE IF NOT EXISTS {_TABLE}
        (path TEXT PRIMARY KEY, version INTEGER NOT NULL, data BLOB NOT NULL) WITHOUT ROWID
"""


class SqliteNamedRecords:
    """The named records in one file."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def read(self, path: DocumentPath) -> tuple[bytes, int] | None:
        """Return the bytes of a record and its version, None if there is none."""
        check_path(path)
        connection = self._tables.opened()
        if not table_is_there(connection, _TABLE):
            return None
        row = connection.execute("SELECT data, version FROM records WHERE path = ?", (key_of(path),)).fetchone()
        return (bytes(row[0]), int(row[1])) if row else None

    def write(self, path: DocumentPath, data: bytes, version: int | None) -> int:
        """Create (version None) or compare and set; return the new version.  Raises MetadataConflict."""
        check_record(path, data)
        with transaction(self._tables.opened()) as connection:
            connection.execute(_SCHEMA)
            self._expect(path, version)
            after = NEW_VERSION if version is None else version + 1
            connection.execute("REPLACE INTO records VALUES (?, ?, ?)", (key_of(path), after, data))
            return after

    def delete(self, path: DocumentPath, version: int) -> None:
        """Delete a record that has ``version``; raises MetadataConflict."""
        check_path(path)
        with transaction(self._tables.opened()) as connection:
            self._expect(path, version)
            connection.execute("DELETE FROM records WHERE path = ?", (key_of(path),))

    def names(self, path: DocumentPath) -> list[str]:
        """Return the next names of all records below ``path``, sorted."""
        return names_below(self._tables.opened(), _TABLE, path)

    def _expect(self, path: DocumentPath, version: int | None) -> None:
        current = self.read(path)
        if version != (None if current is None else current[1]):
            raise changed_by_others(path, version)

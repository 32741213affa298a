"""Tables whose keys are paths of names, made with their first row.

The schema's version stays, as it did with scopes, so that releases without such a table go on using the same file.
"""

import sqlite3

from bookkeeper_tx.metadata.documents import DocumentPath, decoded, encoded


def key_of(path: DocumentPath) -> str:
    """Return what stands in the column ``path``: the encoded names, with slashes between them."""
    return "/".join(encoded(path))


def table_is_there(connection: sqlite3.Connection, table: str) -> bool:
    """Tell whether ``table`` has been made."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def names_below(connection: sqlite3.Connection, table: str, path: DocumentPath) -> list[str]:
    """Return the next names of all rows of ``table`` below ``path``, sorted; none if there is no such table."""
    if not table_is_there(connection, table):
        return []
    start = key_of(path) + "/" if path else ""
    # After all paths that begin like this; encoded names are ASCII.
    end = start[:-1] + chr(ord("/") + 1) if path else "\x7f"
    rows = connection.execute(f"SELECT path FROM {table} WHERE path >= ? AND path < ?", (start, end))
    return sorted({decoded(key[len(start) :].partition("/")[0]) for (key,) in rows})

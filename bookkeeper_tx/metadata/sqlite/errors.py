"""SQLite's errors, translated into those of the metadata store."""

import sqlite3
from collections.abc import Callable
from typing import Any

from bookkeeper_tx.errors import MetadataCorrupt, MetadataUnavailable


def translated(path: str, function: Callable[..., Any], *args: Any) -> Any:
    """Call ``function(*args)`` on the store at ``path``; raise an error of ours instead of one of SQLite."""
    try:
        return function(*args)
    except sqlite3.OperationalError as error:  # locked too long, disk full, no permission
        raise MetadataUnavailable(f"metadata store {path}: {error}") from error
    except sqlite3.ProgrammingError:
        raise  # used in a way that is a mistake here, such as from another thread
    except sqlite3.DatabaseError as error:
        raise MetadataCorrupt(f"metadata store {path}: {error}") from error
    except OSError as error:
        raise MetadataUnavailable(f"metadata store {path}: {error}") from error

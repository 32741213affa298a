"""The marks of journals that are gone with their disk: what they said of a file is no use any more."""

import contextlib
import os
from collections.abc import Sequence

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.files import list_journals
from protocol_specs.disk.last_mark import file_name


def forget_marks(disk: Disk, journals: Sequence[str], ledger_directories: Sequence[str]) -> list[str]:
    """Remove the marks of journals of whose directories none has a file; return the paths.

    For a bookie whose ledgers are going to be marked: what such a journal had is lost.  Blocks; raises OSError.
    """
    gone = [
        file_name(index, len(journals)) for index, journal in enumerate(journals) if not list_journals(disk, journal)
    ]
    paths = [os.path.join(directory, name) for directory in ledger_directories for name in gone]
    removed = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            disk.remove(path)
            removed.append(path)
    for directory in {os.path.dirname(path): None for path in removed}:
        disk.sync_directory(directory)
    return removed

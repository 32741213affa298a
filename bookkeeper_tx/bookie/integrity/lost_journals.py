"""Marks of journal files that are gone: what they said is no use any more, and would refuse the start."""

import os
from collections.abc import Sequence

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.files import list_journals
from bookkeeper_tx.bookie.journal.last_mark import BEGINNING, read_last_mark
from protocol_specs.disk.last_mark import file_name


def forget_marks(disk: Disk, journals: Sequence[str], ledger_directories: Sequence[str]) -> list[str]:
    """Remove the marks that name a journal file which is in the directory of that journal no more; return the paths.

    The file is gone with the journal's disk; or the mark is an old one, and the newer one was in a ledger directory
    that is gone.  For a bookie whose ledgers are going to be marked: what was in the file may be lost.  Blocks; raises
    OSError.
    """
    removed = []
    for index, journal in enumerate(journals):
        name, journal_ids = file_name(index, len(journals)), set(list_journals(disk, journal))
        for directory in ledger_directories:
            mark = read_last_mark(disk, [directory], name)
            if mark != BEGINNING and mark.journal_id not in journal_ids:
                disk.remove(os.path.join(directory, name))
                removed.append(os.path.join(directory, name))
    for directory in {os.path.dirname(path): None for path in removed}:
        disk.sync_directory(directory)
    return removed

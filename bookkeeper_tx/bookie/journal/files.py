"""The files of a journal directory: their names, and the removal of old ones."""

import os

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.errors import RefusedToStart
from protocol_specs.disk.journal import FILE_SUFFIX


def file_path(directory: str, journal_id: int) -> str:
    """Return the path of a journal file."""
    return os.path.join(directory, f"{journal_id:x}{FILE_SUFFIX}")


def list_journals(disk: Disk, directory: str, refusing: bool = False) -> list[int]:
    """Return the ids of the journal files in ``directory``, ascending.

    ``refusing``: a name that is no id raises RefusedToStart, since its records would be lost if the file were left out.
    A bookie that runs has looked at its start, and passes over such a file.
    """
    ids = []
    for name in disk.list_directory(directory):
        if name.endswith(FILE_SUFFIX):
            try:
                ids.append(int(name.split(".", 1)[0], 16))
            except ValueError:
                if not refusing:
                    continue
                path = os.path.join(directory, name)
                raise RefusedToStart(f"{path} is not named like a journal file: move it out of the directory") from None
    return sorted(ids)


def bytes_behind(disk: Disk, directory: str, mark: LogMark) -> int:
    """Return how many bytes the journal has behind ``mark``, zeros that were written ahead included; raises OSError."""
    size = -mark.offset
    for journal_id in list_journals(disk, directory):
        if journal_id >= mark.journal_id:
            file = disk.open(file_path(directory, journal_id))
            try:
                size += file.size()
            finally:
                file.close()
    return max(size, 0)


def remove_before(disk: Disk, directory: str, mark: LogMark, backups_max: int) -> list[str]:
    """Delete the journal files before the marked one, except the ``backups_max`` newest of them; return their paths.

    The oldest goes first, so that a crash leaves no gap.  ``mark`` must be durable in the ledger directories.
    """
    older = [journal_id for journal_id in list_journals(disk, directory) if journal_id < mark.journal_id]
    removed = [file_path(directory, journal_id) for journal_id in older[: max(len(older) - backups_max, 0)]]
    for path in removed:
        disk.remove(path)
    if removed:
        disk.sync_directory(directory)
    return removed

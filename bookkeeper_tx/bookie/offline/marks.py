"""The marks of a bookie's journals (docs/formats/journal.md)."""

import contextlib
import os
from collections.abc import Iterator

from attrs import frozen

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.files import bytes_behind, file_path, list_journals
from bookkeeper_tx.bookie.journal.last_mark import LogMark, read_last_mark
from bookkeeper_tx.bookie.offline.places import Places
from protocol_specs.disk.last_mark import FILE_NAME


@frozen
class Mark:
    """The mark of one journal directory."""

    journal_directory: str
    position: LogMark
    file: str | None
    """The path of the marked journal file; None if there is no mark yet."""
    missing: bool
    """Whether that file is not there: a bookie does not start then."""
    bytes_behind: int
    """Bytes of journal files behind the mark, the zeros that were written ahead included."""


def marks(disk: Disk, places: Places) -> list[Mark]:
    """Return the mark of each journal directory: the greatest that a ledger directory has.  Raises OSError."""
    several = len(places.journal) > 1
    found = []
    for number, directory in enumerate(places.journal_currents):
        name = f"{FILE_NAME}.{number}" if several else FILE_NAME
        position = read_last_mark(disk, places.ledger_currents, name)
        file = file_path(directory, position.journal_id) if position.journal_id else None
        behind = 0
        with contextlib.suppress(FileNotFoundError):
            behind = bytes_behind(disk, directory, position)
        missing = file is not None and not disk.exists(file)
        found.append(Mark(os.path.dirname(directory), position, file, missing, behind))
    return found


def behind_marks(disk: Disk, places: Places) -> Iterator[tuple[str, int]]:
    """Give the path of each journal file that a start would replay, and the offset from which it would."""
    for mark, directory in zip(marks(disk, places), places.journal_currents, strict=True):
        for journal_id in list_journals(disk, directory):
            if journal_id >= mark.position.journal_id:
                at_mark = journal_id == mark.position.journal_id
                yield file_path(directory, journal_id), mark.position.offset if at_mark else 0

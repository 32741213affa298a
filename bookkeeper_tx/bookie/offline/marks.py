"""The marks of a bookie's journals (docs/formats/journal.md)."""

import os
from collections.abc import Iterable, Iterator

from attrs import frozen

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.files import bytes_behind, file_path, list_journals
from bookkeeper_tx.bookie.journal.last_mark import BEGINNING, LogMark, read_last_mark
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.bookie.offline.records import unreadable
from protocol_specs.disk.cookie import DIRECTORY
from protocol_specs.disk.last_mark import LAST_MARK, file_name

SIZE = LAST_MARK.sizeof()


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
    problems: tuple[str, ...] = ()
    """What is wrong with the mark and its file, a line each."""


def marks(disk: Disk, places: Places) -> list[Mark]:
    """Return the mark of each journal directory: the greatest that a ledger directory has.  Raises OSError."""
    count = len(places.journal)
    return [
        _mark(disk, directory, places.ledger_currents, file_name(number, count))
        for number, directory in enumerate(places.journal_currents)
    ]


def _mark(disk: Disk, directory: str, ledger_currents: list[str], name: str) -> Mark:
    problems: list[str] = []
    position = max([BEGINNING, *_positions(disk, ledger_currents, name, problems)])
    file = file_path(directory, position.journal_id) if position.journal_id else None
    missing = file is not None and not disk.exists(file)
    if missing:
        problems.append(f"{file} is missing: the mark is in it, its records are lost, and no bookie starts without it")
    behind = 0
    try:
        behind = bytes_behind(disk, directory, position)
    except OSError as error:
        problems.append(unreadable(directory, error))
    return Mark(os.path.dirname(directory), position, file, missing, behind, tuple(problems))


def _positions(disk: Disk, ledger_currents: list[str], name: str, problems: list[str]) -> Iterator[LogMark]:
    """Give the mark of each ledger directory that has one."""
    for current in ledger_currents:
        path = os.path.join(current, name)
        try:
            size = len(disk.read(path))
            if size >= SIZE:
                yield read_last_mark(disk, [current], name)
            else:
                problems.append(f"{path} has {size} bytes, and a mark has {SIZE}: it counts as none")
        except FileNotFoundError:
            pass  # no flush has ever been there
        except OSError as error:
            problems.append(unreadable(path, error))


def behind_marks(disk: Disk, found: Iterable[Mark]) -> Iterator[tuple[str, int]]:
    """Give the path of each journal file that a start would replay, and the offset from which it would."""
    for mark in found:
        directory = os.path.join(mark.journal_directory, DIRECTORY)
        for journal_id in list_journals(disk, directory):
            if journal_id >= mark.position.journal_id:
                at_mark = journal_id == mark.position.journal_id
                yield file_path(directory, journal_id), mark.position.offset if at_mark else 0

"""The mark: all records of the journal before it are in the ledger storage (docs/formats/journal.md)."""

import contextlib
import os
from collections.abc import Sequence

from attrs import frozen
from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk
from protocol_specs import codecs
from protocol_specs.disk import last_mark

log = Logger()

_MARK = codecs.derive("lastMark", last_mark.LAST_MARK)


@frozen(order=True)
class LogMark:
    """A position in the journal; later positions compare greater."""

    journal_id: int
    """Number of the journal file; 0 is no file, but the start of the journal."""
    offset: int
    """Bytes from the start of that file."""

    def __str__(self) -> str:
        return f"{self.journal_id:x}.txn at {self.offset}"


BEGINNING = LogMark(0, 0)


@frozen(order=True)
class CombinedMark(LogMark):
    """The marks of several journals: the first one's, and with it those of the others."""

    others: tuple[LogMark, ...] = ()
    """In the order of the configuration."""

    def __str__(self) -> str:
        return ", ".join(map(str, marks_of(self)))


def combined(marks: Sequence[LogMark]) -> LogMark:
    """Return the marks of all journals, at least one, as one mark; :func:`marks_of` takes it apart."""
    first, *others = marks
    return CombinedMark(first.journal_id, first.offset, tuple(others)) if others else first


def marks_of(mark: LogMark) -> tuple[LogMark, ...]:
    """Return the mark of each journal."""
    if isinstance(mark, CombinedMark):
        return (LogMark(mark.journal_id, mark.offset), *mark.others)
    return (mark,)


def read_last_mark(disk: Disk, ledger_directories: Sequence[str], name: str = last_mark.FILE_NAME) -> LogMark:
    """Return the greatest mark in ``ledger_directories`` (their ``current``), BEGINNING if there is none.

    ``name`` is that of the file, which Java numbers if there are several journals.  Missing and short files are
    ignored, as by Java's ``Journal``: a crash may have left one of several old or short.
    """
    marks = [BEGINNING]
    for directory in ledger_directories:
        with contextlib.suppress(FileNotFoundError):
            data = disk.read(os.path.join(directory, name))
            if len(data) >= _MARK.size:
                marks.append(LogMark(*_MARK.unpack_fixed(data)))
    return max(marks)


def write_last_mark(
    disk: Disk, ledger_directories: Sequence[str], mark: LogMark, name: str = last_mark.FILE_NAME
) -> None:
    """Store ``mark`` durably in every directory (their ``current``) that can be written.

    One is enough, as the greatest is read.  Raises OSError if none can; then the old mark may still be there.  The
    caller has made all records before ``mark`` durable in the storage, and the marked file exists.
    """
    data = _MARK.pack(mark.journal_id, mark.offset)
    errors: list[OSError] = []
    for directory in ledger_directories:
        try:
            disk.replace(os.path.join(directory, name), data)
        except OSError as error:
            errors.append(error)
    if len(errors) == len(ledger_directories):
        raise errors[0]
    for each in errors:
        log.warn("the mark is not in one of the directories: {error}", error=each)

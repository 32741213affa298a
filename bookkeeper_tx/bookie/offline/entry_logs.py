"""The entry logs of a bookie, in whichever ledger directory each lies."""

import os
from typing import Final

from attrs import frozen

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.storage.entry_log_format import log_name
from bookkeeper_tx.bookie.storage.open_files import OpenFiles
from bookkeeper_tx.entry.entry_log_scan import Header, parse_header
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.disk import entry_log as spec

OPEN_FILES_MAX: Final = 64

SUFFIXES = (spec.LOG_SUFFIX, spec.SCOPED_LOG_SUFFIX)


@frozen
class LogFile:
    """An entry log by its name."""

    log_id: int
    path: str
    scoped: bool
    """Whether its name is that of a log with entries of ledgers outside scope 0."""


def log_of(path: str) -> LogFile | None:
    """Return the log that a path names; None if its name is not a log's."""
    stem, dot, suffix = os.path.basename(path).partition(".")
    if dot + suffix not in SUFFIXES:
        return None
    try:
        log_id = int(stem, 16)
    except ValueError:
        return None
    # Another spelling of the number is another file, which no bookie looks at.
    scoped = dot + suffix == spec.SCOPED_LOG_SUFFIX
    return LogFile(log_id, path, scoped) if os.path.basename(path) == log_name(log_id, scoped) else None


def list_logs(disk: Disk, ledger_currents: list[str]) -> list[LogFile]:
    """Return the logs in these directories, by their ids ascending."""
    paths = [os.path.join(current, name) for current in ledger_currents for name in disk.list_directory(current)]
    logs = [log for path in paths if (log := log_of(path)) is not None]
    return sorted(logs, key=lambda log: (log.log_id, log.path))


def read_header(file: File) -> Header:
    """Return the header of a log; raises StorageFailed."""
    try:
        return parse_header(file.read(spec.HEADER_SIZE, 0))
    except ValueError as error:
        raise StorageFailed(f"entry log {file.path}: {error}") from None


class EntryLogs:
    """Reads entry logs by their ids.  Calls block."""

    def __init__(self, disk: Disk, ledger_currents: list[str]) -> None:
        self._files = OpenFiles(disk, OPEN_FILES_MAX)
        self._paths = {(log.log_id, log.scoped): log.path for log in list_logs(disk, ledger_currents)}

    def path(self, log_id: int, scoped: bool) -> str | None:
        """Return the path of a log, None if there is none with this id."""
        return self._paths.get((log_id, scoped))

    def read(self, path: str, offset: int, size: int) -> bytes:
        """Return ``size`` bytes of a log, fewer only at its end.  Raises StorageFailed."""
        try:
            with self._files.borrow(path) as file:
                return file.read(size, offset)
        except OSError as error:
            raise StorageFailed(f"cannot read entry log {path}: {error}") from error

    def close(self) -> None:
        """Close the files."""
        self._files.close()

"""The entry logs of a bookie, in whichever ledger directory each lies."""

import os
from array import array

from attrs import frozen

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.storage.checked_pieces import CheckedPieces
from bookkeeper_tx.bookie.storage.entry_location import split_location
from bookkeeper_tx.bookie.storage.entry_log import log_name
from bookkeeper_tx.bookie.storage.entry_reader import EntryReader
from bookkeeper_tx.entry.entry_log_scan import Header, parse_header
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.model import ledger_name
from protocol_specs.disk import entry_log as spec
from protocol_specs.ledger_id import SCOPED_MIN

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
    """Reads entries where the index says that they are.  Calls block."""

    def __init__(self, disk: Disk, ledger_currents: list[str]) -> None:
        self._readers = {current: EntryReader(disk, current, CheckedPieces()) for current in ledger_currents}
        self._places = {(log.log_id, log.scoped): os.path.dirname(log.path) for log in list_logs(disk, ledger_currents)}

    def read_run(self, ledger_id: int, first_entry_id: int, locations: "array[int]", size: int) -> EntryRun:
        """Return entries that are back to back, as :meth:`EntryReader.read_run` does.  Raises StorageFailed."""
        log_id, offset = split_location(locations[0])
        scoped = ledger_id >= SCOPED_MIN
        current = self._places.get((log_id, scoped))
        if current is None:
            entry = f"entry {first_entry_id} of ledger {ledger_name(ledger_id)}"
            name = log_name(log_id, scoped)
            raise StorageFailed(f"{entry} should be at offset {offset} of entry log {name}, which is not there")
        return self._readers[current].read_run(ledger_id, first_entry_id, locations, size)

    def close(self) -> None:
        """Close the files."""
        for reader in self._readers.values():
            reader.close()

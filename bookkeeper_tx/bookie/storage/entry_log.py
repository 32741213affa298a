"""Writing entry logs (docs/formats/entry-log.md): runs are written uncut, and full logs get their ledgers map."""

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from attrs import frozen
from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.storage.entry_location import location
from bookkeeper_tx.bookie.storage.entry_log_format import following, header, ledgers_map, log_id_of, log_name
from bookkeeper_tx.bookie.storage.ledger_directories import LedgerDirectories
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs.disk import entry_log as spec
from protocol_specs.ledger_id import SCOPED_MIN

WRITE_SIZE = 512 * 1024
"""Bytes of runs collected for one write: enough to make few writes, and few enough to be copied in the CPU's cache."""

CHECKED_COUNT_MIN: Final = 16
"""Runs of fewer entries get no checksum (``checked_pieces``), so their records may be dropped once they are written."""

log = Logger()


@frozen
class PlacedRun:
    """A run and its place in a log: the record at offset ``o`` of its buffer has the location ``base + o``.

    A run of fewer than ``CHECKED_COUNT_MIN`` entries has an empty buffer here.
    """

    run: EntryRun
    base: int


class _Log:
    """One log that is being written."""

    def __init__(self, file: File, directories: LedgerDirectories, directory: str, log_id: int, scoped: bool) -> None:
        self.file = file
        self._directories = directories
        self.directory = directory
        self.log_id = log_id
        self.scoped = scoped
        """Whether its entries are of ledgers outside scope 0; a log has only such entries, or none."""
        self.written = 0
        """Bytes in the file."""
        self.sizes: dict[int, int] = {}
        """Bytes of each ledger, length words included."""
        self._unwritten: list[bytes | memoryview] = []
        self.end = 0
        """Bytes in the file once all data is written."""

    @property
    def name(self) -> str:
        """The name of the file."""
        return log_name(self.log_id, self.scoped)

    def append(self, data: bytes | memoryview) -> None:
        """Append ``data``; it is written when enough has come together, or by :meth:`write`."""
        self._unwritten.append(data)
        self.end += len(data)
        if self.end - self.written >= WRITE_SIZE:
            self.write()

    def write(self) -> None:
        if self._unwritten:
            with self._directories.trying(self.directory):
                self.file.write_many(self._unwritten, self.written)
            self._unwritten = []
            self.written = self.end

    def sync(self) -> None:
        with self._directories.writing(self.directory):
            self.file.sync()

    def finish(self) -> None:
        """Add the ledgers map and close the log; the header follows when the map is on the disk."""
        map_offset = self.end
        self.append(ledgers_map(self.sizes, self.scoped))
        self.write()
        self.sync()
        with self._directories.writing(self.directory):
            self.file.write(header(map_offset, len(self.sizes), self.scoped), 0)
            self.file.sync()
        self.file.close()

    def cut(self, end: int, sizes: dict[int, int]) -> None:
        """Drop the data after ``end``, and free its space."""
        self._unwritten = []
        self.file.truncate(end)
        self.written = self.end = end
        self.sizes = sizes


class EntryLogWriter:
    """Writes entry logs: one for ledgers of scope 0 and one for the others at a time, in ``directories``.

    Calls block, and come from one thread at a time.
    """

    def __init__(self, disk: Disk, directories: LedgerDirectories, size_max: int) -> None:
        self._disk = disk
        self._directories = directories
        self._size_max = size_max
        self._logs: dict[bool, _Log] = {}
        """The logs that are being written, by ``scoped``."""
        self._full: list[_Log] = []
        self._created: list[_Log] = []
        self._next_id = 0
        self._last_directory: str | None = None
        """That of the newest log."""
        self._needed_bytes = 0
        """What the caller is going to write, more or less."""
        self.first_log_id = 0
        """The first log id of this process; locations in its own logs are certain."""

    def start(self) -> None:
        """Find out which log ids are taken.  A log of an earlier process is never appended to.

        Raises OSError, RefusedToStart.
        """
        taken = [log_id_of(name) for name in self._directories.find()]
        for directory in self._directories.paths:
            with contextlib.suppress(FileNotFoundError, ValueError):
                taken.append(int(self._disk.read(os.path.join(directory, spec.LAST_ID_NAME)), 16))
        self._next_id = self.first_log_id = max(taken, default=-1) + 1

    def check_room(self, size_bytes: int) -> None:
        """Raise OSError if no disk has room for so much: the attempt would take what the journal needs.

        A log whose disk is full ends if another disk is not, so that the bytes go there.
        """
        self._directories.check_room(size_bytes)
        self._needed_bytes = size_bytes
        for current in list(self._logs.values()):
            if self._directories.is_to_leave(current.directory, size_bytes):
                self._leave(current)

    def write(self, ledgers: Iterable[tuple[int, Sequence[EntryRun]]]) -> list[tuple[int, list[PlacedRun]]]:
        """Write all runs and sync them; return the place of each one, in the order given.

        When it raises, no log in use has anything of this call, and it can be called again.
        """
        before = [(log, log.end, log.sizes.copy()) for log in self._logs.values()]
        synced = True
        try:
            placed = [
                (ledger_id, [self._place(run, ledger_id >= SCOPED_MIN) for run in runs]) for ledger_id, runs in ledgers
            ]
            for current in self._logs.values():
                current.write()
            synced = False
            self._sync()
        except BaseException:
            self._roll_back(before if synced else [])
            raise
        return placed

    @property
    def written_names(self) -> frozenset[str]:
        """The files that are being written: nobody may remove them, and they are not complete."""
        return frozenset(each.name for each in self._logs.values())

    def end_dead(self, is_alive: Callable[[int], bool]) -> None:
        """End the current logs that have entries of no ledger that is alive, so that they can be removed.

        Raises OSError; such a log has no ledgers map, as after a crash.
        """
        for scoped, current in list(self._logs.items()):
            if current.sizes and not any(map(is_alive, current.sizes)):
                del self._logs[scoped]
                try:
                    current.finish()
                except OSError:
                    current.file.close()
                    raise

    def close(self) -> None:
        """Close the current logs; like logs after a crash, they get no ledgers map."""
        for current in self._logs.values():
            current.file.close()
        self._logs = {}

    def _leave(self, current: _Log) -> None:
        """End a log whose disk is full; if that has no room for the ledgers map it gets none, as after a crash."""
        del self._logs[current.scoped]
        try:
            current.finish()
        except OSError as error:
            current.file.close()
            log.warn("entry log {path} has no ledgers map: {error}", path=current.file.path, error=error)
        log.info("entry log {path} ends early: its disk is full", path=current.file.path)

    def _place(self, run: EntryRun, scoped: bool) -> PlacedRun:
        size = run.size
        log = self._logs.get(scoped)
        if log is None or (log.end + size > self._size_max and log.end > spec.HEADER_SIZE):
            log = self._rotate(scoped)
        base = location(log.log_id, log.end) - run.offsets[0]
        log.append(run.records(run.first_entry_id, run.count))
        log.sizes[run.ledger_id] = log.sizes.get(run.ledger_id, 0) + size
        if run.count < CHECKED_COUNT_MIN:
            run = EntryRun(run.ledger_id, run.first_entry_id, b"", run.offsets)
        return PlacedRun(run, base)

    def _rotate(self, scoped: bool) -> _Log:
        full = self._logs.pop(scoped, None)
        if full is not None:
            self._full.append(full)
            full.write()
        log_id = self._next_id
        while any(self._directories.has(log_name(log_id, each)) for each in (False, True)):
            log_id = following(log_id)
        name = log_name(log_id, scoped)
        directory = self._last_directory = self._directories.next(self._last_directory, self._needed_bytes)
        with self._directories.trying(directory):
            file = self._disk.create(os.path.join(directory, name))
        created = self._logs[scoped] = _Log(file, self._directories, directory, log_id, scoped)
        self._created.append(created)
        self._directories.begun(name, directory)
        self._next_id = following(log_id)
        created.append(header(scoped=scoped))
        created.write()
        self._keep_last_id(created)
        return created

    def _keep_last_id(self, created: _Log) -> None:
        """Write the id of a new log into each directory, as Java does; the others' disks may be full or broken."""
        data = f"{created.log_id:x}\n".encode()
        for directory in self._directories.paths:
            try:
                with self._directories.writing(directory):
                    self._disk.replace(os.path.join(directory, spec.LAST_ID_NAME), data)
            except OSError as error:
                if directory == created.directory:
                    raise
                log.warn("the id of the newest log is not in {directory}: {error}", directory=directory, error=error)

    def _sync(self) -> None:
        for full in self._full:
            full.finish()
            log.info("entry log {name} is full", name=full.name)
        for current in self._logs.values():
            current.sync()
        for directory in sorted({created.directory for created in self._created}):
            with self._directories.writing(directory):
                self._disk.sync_directory(directory)
        self._full, self._created = [], []

    def _roll_back(self, before: list[tuple[_Log, int, dict[int, int]]]) -> None:
        """Undo a write that failed; ``before`` is the former state of the logs that can be continued.

        After a failed sync it is unknown which bytes of a log are on the disk, so the next write starts new logs.  So
        it does if there are several directories: in another one, if the disk of this one has failed.
        """
        for created in self._created:
            created.file.close()
            with contextlib.suppress(OSError):
                self._directories.remove(created.name)
        kept = [each for each, _, _ in before]
        for each in (*self._logs.values(), *self._full):
            if each not in kept:
                each.file.close()
        self._full, self._created, self._logs = [], [], {}
        for each, end, sizes in before:
            try:
                each.cut(end, sizes)
            except OSError:
                each.file.close()
            else:
                self._go_on(each)

    def _go_on(self, current: _Log) -> None:
        """Take a log again, as it was before a write that failed."""
        if self._directories.several:
            current.file.close()
        else:
            self._logs[current.scoped] = current

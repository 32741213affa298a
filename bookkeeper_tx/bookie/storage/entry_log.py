"""Writing entry logs (docs/formats/entry-log.md): runs are written uncut, and full logs get their ledgers map."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from attrs import frozen
from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.storage.entry_location import location
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE, EntryRun
from protocol_specs import codecs
from protocol_specs.disk import entry_log as spec
from protocol_specs.entry import v2
from protocol_specs.ledger_id import SCOPED_MIN, split

HEADER = codecs.derive("entry log header", spec.HEADER)
LEDGERS_MAP_HEAD = codecs.derive("ledgers map", spec.LEDGERS_MAP_HEAD)
LEDGERS_MAP_ROW = codecs.derive("ledgers map row", spec.LEDGERS_MAP_ROW)
SCOPED_LEDGERS_MAP_HEAD = codecs.derive("ledgers map", spec.SCOPED_LEDGERS_MAP_HEAD)
SCOPED_LEDGERS_MAP_ROW = codecs.derive("ledgers map row", spec.SCOPED_LEDGERS_MAP_ROW)

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


def log_name(log_id: int, scoped: bool = False) -> str:
    """Return the file name of an entry log; ``scoped``: of one with entries of ledgers outside scope 0."""
    return f"{log_id:x}{spec.SCOPED_LOG_SUFFIX if scoped else spec.LOG_SUFFIX}"


def header(map_offset: int = 0, map_count: int = 0, scoped: bool = False) -> bytes:
    """Return the header of a log whose map of ``map_count`` ledgers is at ``map_offset``."""
    version = spec.SCOPED_VERSION if scoped else spec.VERSION
    return HEADER.pack_fixed(spec.MAGIC, version, map_offset, map_count).ljust(spec.HEADER_SIZE, b"\0")


def ledgers_map(sizes: Mapping[int, int], scoped: bool = False) -> bytes:
    """Return the map of a log that holds these bytes of these ledgers."""
    owner: tuple[int, ...] = (spec.LEDGERS_MAP_LEDGER_ID,)
    head, row_size = LEDGERS_MAP_HEAD, LEDGERS_MAP_ROW.size
    if scoped:
        owner = (v2.flags_of(v2.NO_DIGEST), spec.SCOPED_LEDGERS_MAP_SCOPE_ID, spec.LEDGERS_MAP_LEDGER_ID)
        head, row_size = SCOPED_LEDGERS_MAP_HEAD, SCOPED_LEDGERS_MAP_ROW.size
    rows = iter(sizes.items())
    batches: list[bytes] = []
    while batch := list(islice(rows, spec.LEDGERS_MAP_BATCH_COUNT_MAX)):
        size = head.size - RECORD_LENGTH_SIZE + len(batch) * row_size
        batches.append(head.pack_fixed(size, *owner, spec.LEDGERS_MAP_ENTRY_ID, len(batch)))
        if scoped:
            batches += (SCOPED_LEDGERS_MAP_ROW.pack_fixed(*split(ledger_id), size) for ledger_id, size in batch)
        else:
            batches += (LEDGERS_MAP_ROW.pack_fixed(*row) for row in batch)
    return b"".join(batches)


class _Log:
    """One log that is being written."""

    def __init__(self, file: File, log_id: int, scoped: bool) -> None:
        self.file = file
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

    def append(self, data: bytes | memoryview) -> None:
        """Append ``data``; it is written when enough has come together, or by :meth:`write`."""
        self._unwritten.append(data)
        self.end += len(data)
        if self.end - self.written >= WRITE_SIZE:
            self.write()

    def write(self) -> None:
        if self._unwritten:
            self.file.write_many(self._unwritten, self.written)
            self._unwritten = []
            self.written = self.end

    def finish(self) -> None:
        """Add the ledgers map and close the log; the header follows when the map is on the disk."""
        map_offset = self.end
        self.append(ledgers_map(self.sizes, self.scoped))
        self.write()
        self.file.sync()
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
    """Writes the entry logs of one directory: one for ledgers of scope 0 and one for the others at a time.

    Calls block, and come from one thread at a time.
    """

    def __init__(self, disk: Disk, directory: str, size_max: int) -> None:
        self._disk = disk
        self._directory = directory
        self._size_max = size_max
        self._logs: dict[bool, _Log] = {}
        """The logs that are being written, by ``scoped``."""
        self._full: list[_Log] = []
        self._created: list[_Log] = []
        self._next_id = 0
        self.first_log_id = 0
        """The first log id of this process; locations in its own logs are certain."""

    def start(self) -> None:
        """Find out which log ids are taken.  A log of an earlier process is never appended to."""
        taken = [_log_id(name) for name in self._disk.list_directory(self._directory)]
        with contextlib.suppress(FileNotFoundError, ValueError):
            taken.append(int(self._disk.read(os.path.join(self._directory, spec.LAST_ID_NAME)), 16))
        self._next_id = self.first_log_id = max(taken, default=-1) + 1

    def check_room(self, size_bytes: int) -> None:
        """Raise OSError if the disk has no room for so much: the attempt would take what the journal needs."""
        if size_bytes > self._disk.free_bytes(self._directory):
            what = f"{os.strerror(errno.ENOSPC)} for {size_bytes} bytes of entries"
            raise OSError(errno.ENOSPC, what, self._directory)

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
        return frozenset(log_name(each.log_id, each.scoped) for each in self._logs.values())

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
        while any(self._disk.exists(self._path(log_id, each)) for each in (False, True)):
            log_id = _following(log_id)
        file = self._disk.create(self._path(log_id, scoped))
        created = self._logs[scoped] = _Log(file, log_id, scoped)
        self._created.append(created)
        self._next_id = _following(log_id)
        created.append(header(scoped=scoped))
        created.write()
        self._disk.replace(os.path.join(self._directory, spec.LAST_ID_NAME), f"{log_id:x}\n".encode())
        return created

    def _path(self, log_id: int, scoped: bool) -> str:
        return os.path.join(self._directory, log_name(log_id, scoped))

    def _sync(self) -> None:
        for full in self._full:
            full.finish()
            log.info("entry log {name} is full", name=log_name(full.log_id, full.scoped))
        for current in self._logs.values():
            current.file.sync()
        if self._created:
            self._disk.sync_directory(self._directory)
        self._full, self._created = [], []

    def _roll_back(self, before: list[tuple[_Log, int, dict[int, int]]]) -> None:
        """Undo a write that failed; ``before`` is the former state of the logs that can be continued.

        After a failed sync it is unknown which bytes of a log are on the disk, so the next write starts new logs.
        """
        for created in self._created:
            created.file.close()
            with contextlib.suppress(OSError):
                self._disk.remove(created.file.path)
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
                self._logs[each.scoped] = each


def _following(log_id: int) -> int:
    return 0 if log_id >= spec.LOG_ID_MAX else log_id + 1


def _log_id(name: str) -> int:
    """Return the id that a file name of an entry log takes, compacted logs included; -1 for another file."""
    stem, dot, suffix = name.partition(".")
    if dot and suffix.startswith(spec.LOG_SUFFIX[1:]):
        with contextlib.suppress(ValueError):
            return int(stem, 16)
    return -1

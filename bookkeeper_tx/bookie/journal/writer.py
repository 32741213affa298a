"""Writing journal files: the half of the journal that blocks, called on one thread.

Files are never recycled: after the last group there are only zeros.  They are written ahead in steps, because a sync is
faster when the file's blocks exist already, and because a length of zero ends the log.
"""

import contextlib
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Final, Protocol

import crc32c
from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Buffer, Directory, Disk, File, out_of_descriptors
from bookkeeper_tx.bookie.journal.files import file_path, list_journals
from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.bookie.journal.records import file_start, seal_pad
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.disk import journal
from protocol_specs.entry import v2

ZEROS_STEP_MAX: Final = 1024 * 1024
"""Zeros written ahead at once.  The group that needs them waits for them: 1 ms for this, 10 to 40 ms for 16 MiB."""

ZEROS: Final = bytes(ZEROS_STEP_MAX)

log = Logger()

_FIRST_BYTE: Final = itemgetter(RECORD_LENGTH_SIZE)
"""Takes the first byte of a record's body; its top bit marks format V2."""


class JournalConfig(Protocol):
    """The part of the bookie's configuration that the journal needs."""

    @property
    def journal_size_bytes_max(self) -> int: ...

    @property
    def journal_preallocation_bytes(self) -> int: ...

    @property
    def journal_backups_max(self) -> int: ...


class SyncFailed(StorageFailed):
    """The disk did not confirm a write.  Its content is unknown now: only a restart with replay can find it out."""


class OutOfDescriptors(StorageFailed):
    """No file could be opened because too many are open; it may be tried again."""


class JournalWriter:
    """Writes groups of records, each sealed, to the newest file of a journal directory, and syncs them.

    ``check_directory()`` raises StorageFailed if the path of the directory leads to another one by now, or OSError.
    """

    def __init__(
        self,
        disk: Disk,
        directory: str,
        config: JournalConfig,
        clock: Callable[[], float],
        salt: Callable[[int], bytes],
        check_directory: Callable[[], None],
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._size_max = config.journal_size_bytes_max
        self._zeros_step = min(config.journal_preallocation_bytes, ZEROS_STEP_MAX)
        self._clock = clock
        self._draw_salt = salt
        self._check_directory = check_directory
        self._file: File | None = None
        self._journal_id = 0
        self._version = journal.VERSION
        self._salt = b""
        self._position = 0
        self._synced_end = 0
        """The end of the bytes that are on the disk for certain."""
        self._zeroed_end = 0
        self._dirty_end = 0
        """The end of the bytes that a group whose write failed may have left; 0 if there are none."""
        self._half_made = ""
        """The path of a new file that could not be written and is not yet removed for good; empty if there is none."""

    def open_next(self, version: int = journal.VERSION) -> LogMark:
        """Start a new file of this version, durably, and return the position of its first group.

        Raises StorageFailed, then the old file stays in use, or SyncFailed.
        """
        try:
            # First: a file whose name could not be synced, because there is no descriptor for it, must not come to be.
            directory = self._open_directory()
        except OSError as error:
            raise _failed(f"cannot open journal directory {self._directory}", error) from error
        with contextlib.closing(directory):
            return self._open_next(directory, version)

    def _open_directory(self) -> Directory:
        """Open the directory for a change of its names: in another that has its path, a file would be out of the way.

        Raises StorageFailed if there is another, or OSError.
        """
        self._check_directory()
        return self._disk.open_directory(self._directory)

    def _open_next(self, directory: Directory, version: int) -> LogMark:
        self._sync_rest()
        try:
            ids = list_journals(self._disk, self._directory)
        except OSError as error:
            raise _failed(f"cannot read journal directory {self._directory}", error) from error
        journal_id = ids[-1] + 1 if ids else int(self._clock() * 1000) + 1
        salt = self._draw_salt(journal.SEAL_SALT_SIZE)
        start = file_start(salt, version)
        path = file_path(self._directory, journal_id)
        try:
            file = self._disk.create(path)
        except OSError as error:
            raise _failed(f"cannot create journal file {path}", error) from error
        try:
            file.write(start, 0)
            zeroed_end = self._write_zeros(file, len(start), len(start) + 1)
        except OSError as error:
            file.close()
            self._half_made = path
            self._remove_half_made()
            raise _failed(f"cannot write journal file {path}", error) from error
        self._sync(file)
        self._sync_directory(directory)
        self.close()
        self._file, self._journal_id, self._version, self._salt = file, journal_id, version, salt
        self._position = self._synced_end = len(start)
        self._zeroed_end, self._dirty_end = zeroed_end, 0
        return self._mark

    def write_group(self, buffers: Sequence[Buffer], syncs: bool = True) -> LogMark:
        """Write ``buffers``, complete records, as one group; return the position before which all is on the disk.

        ``syncs``: that is the end of the group.

        The first group with records of ledgers outside scope 0 begins a file whose version allows them.
        Raises StorageFailed when it could not be written; then the next group is written in its place.  SyncFailed is
        final.
        """
        data = b"".join(buffers)
        self._erase_failed_group()
        if self._half_made:
            self._remove_half_made()
        is_full = self._file is None or self._position > self._size_max
        if is_full or self._version < journal.SCOPED_VERSION:
            version = journal.SCOPED_VERSION if _has_scoped(buffers) else journal.VERSION
            if is_full or version > self._version:
                self._go_on_in_next(version)
        file, start = self._opened, self._position
        magic = journal.SEAL_MAGIC if self._synced_end == start else journal.LAZY_SEAL_MAGIC
        pad = seal_pad(start, start + len(data), crc32c.crc32c(data), self._salt, magic)
        end = start + len(data) + len(pad)
        try:
            if end > self._zeroed_end:
                self._zeroed_end = self._write_zeros(file, self._zeroed_end, end)
            self._dirty_end = end
            file.write_many((data, pad), start)
        except OSError as error:
            raise StorageFailed(f"cannot write to journal file {file.path} at {start}: {error}") from error
        if syncs:
            self._sync(file)
            self._synced_end = end
        self._position, self._dirty_end = end, 0
        return self._mark

    def _sync_rest(self) -> None:
        """Sync what was written without: a reader expects no torn group before a newer file."""
        if self._file is not None and self._synced_end < self._position:
            self._sync(self._file)
            self._synced_end = self._position

    def _go_on_in_next(self, version: int) -> None:
        """Start a new file; while there is no descriptor for it, the old one gets longer if its version will do."""
        try:
            self.open_next(version)
        except OutOfDescriptors as error:
            if self._file is None or version > self._version or self._half_made:
                raise
            log.warn("the journal goes on in a file that is full: {error}", error=error)

    def _remove_half_made(self) -> None:
        """Remove a new file that is not used, durably, before the old file gets longer.

        If a crash brought it back, a torn last group of the old file would look like damage: we begin a file only
        when there is none.  Raises StorageFailed, then it is to be tried again, or SyncFailed.
        """
        try:
            with contextlib.closing(self._open_directory()) as directory:
                with contextlib.suppress(FileNotFoundError):
                    self._disk.remove(self._half_made)
                self._sync_directory(directory)
        except OSError as error:
            raise _failed(f"cannot remove journal file {self._half_made}, which was not used", error) from error
        self._half_made = ""

    def close(self) -> None:
        """Close the file; acknowledged records are on the disk already."""
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def _opened(self) -> File:
        if self._file is None:
            raise StorageFailed("the journal is not open")
        return self._file

    @property
    def _mark(self) -> LogMark:
        return LogMark(self._journal_id, self._synced_end)

    def _write_zeros(self, file: File, start: int, end: int) -> int:
        """Write zeros from ``start`` to ``end`` or further; return the end of the zeros."""
        while start < end:
            file.write(ZEROS[: self._zeros_step], start)
            start += self._zeros_step
        return start

    def _erase_failed_group(self) -> None:
        """Zero the bytes of a failed write, durably: after a shorter group they would be read as records."""
        if not self._dirty_end:
            return
        file, start = self._opened, self._position
        try:
            for at in range(start, self._dirty_end, ZEROS_STEP_MAX):
                file.write(ZEROS[: self._dirty_end - at], at)
        except OSError as error:
            raise StorageFailed(f"cannot write to journal file {file.path} at {start}: {error}") from error
        self._sync(file)
        self._dirty_end = 0

    def _sync(self, file: File) -> None:
        try:
            file.sync()
        except OSError as error:
            raise SyncFailed(f"cannot sync journal file {file.path}: {error}") from error

    def _sync_directory(self, directory: Directory) -> None:
        try:
            directory.sync()
        except OSError as error:
            raise SyncFailed(f"cannot sync journal directory {self._directory}: {error}") from error


def _failed(what: str, error: OSError) -> StorageFailed:
    return (OutOfDescriptors if out_of_descriptors(error) else StorageFailed)(f"{what}: {error}")


def _has_scoped(buffers: Sequence[Buffer]) -> bool:
    """Tell whether one of ``buffers``, each of whole records of one ledger, is of a ledger outside scope 0."""
    return max(map(_FIRST_BYTE, buffers), default=0) >= v2.NOT_V1

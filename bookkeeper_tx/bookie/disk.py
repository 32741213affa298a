"""All file access of a bookie.  Calls block; the caller chooses the thread.

Writes are durable only after a sync: bytes after :meth:`File.sync`, the name of a new file after
:meth:`Disk.sync_directory`.  The test double with this interface loses both until then.
"""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Sequence
from typing import Final

from bookkeeper_tx.bookie.key_values import KeyValues
from bookkeeper_tx.bookie.sync_group import SyncGroup, syncs_whole
from bookkeeper_tx.config import BookieConfig

Buffer = bytes | bytearray | memoryview

FILE_MODE: Final = 0o600
"""Of the files that we make: they hold the master keys of ledgers, with which everyone may read, add and fence."""

SECTOR_SIZE: Final = 512
"""Bytes that a disk writes completely or not at all."""

JOINED_SIZE_MAX: Final = 64 * 1024
"""Buffers that are smaller than this on average are joined before the write: a vectored write takes longer than a copy.
"""

VECTOR_LENGTH_MAX: Final = 1024
"""Linux refuses longer vectors (``IOV_MAX``)."""

READ_CACHED_SIZE_MAX: Final = 1024 * 1024
"""Reading more than this takes too long for a thread that must not wait."""

_READ_CACHED: Final = getattr(os, "RWF_NOWAIT", None)
"""Flag for reads that fail unless the bytes are in memory; only Linux has it."""

_cached = bytearray(READ_CACHED_SIZE_MAX if _READ_CACHED is not None else 0)
"""The buffer of such reads: its pages are in use already, and only one thread reads like this."""


def out_of_descriptors(error: BaseException | None) -> bool:
    """Tell whether a file could not be opened because too many are open: that passes, and nothing is wrong with it."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def remove_durably(disk: "Disk", path: str) -> None:
    """Remove a file, for good; raises OSError."""
    disk.remove(path)
    disk.sync_directory(os.path.dirname(path))


class File:
    """An open file, read and written at offsets."""

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def write(self, data: Buffer, offset: int) -> None:
        """Write all of ``data`` at ``offset``.  After an OSError it is unknown how much was written."""
        written = os.pwrite(self._descriptor, data, offset)
        if written == len(data):
            return
        rest = memoryview(data)
        while written < len(rest):
            rest = rest[written:]
            offset += written
            written = os.pwrite(self._descriptor, rest, offset)

    def write_many(self, buffers: Sequence[Buffer], offset: int) -> None:
        """Write ``buffers`` back to back at ``offset``, as :meth:`write` does."""
        if len(buffers) == 1:
            self.write(buffers[0], offset)
            return
        size = sum(map(len, buffers))
        if size < JOINED_SIZE_MAX * len(buffers):
            self.write(b"".join(buffers), offset)
            return
        for first in range(0, len(buffers), VECTOR_LENGTH_MAX):
            vector = buffers[first : first + VECTOR_LENGTH_MAX]
            expected = sum(map(len, vector))
            written = os.pwritev(self._descriptor, vector, offset)
            if written < expected:
                self.write(b"".join(vector)[written:], offset + written)
            offset += expected

    def read(self, size: int, offset: int) -> bytes:
        """Return ``size`` bytes from ``offset`` on; fewer only at the end of the file."""
        try:
            data = os.pread(self._descriptor, size, offset)
            if len(data) == size or not data:
                return data
            parts = [data]
            have = len(data)
            while have < size and (data := os.pread(self._descriptor, size - have, offset + have)):
                parts.append(data)
                have += len(data)
        except OSError as error:
            error.filename = self.path  # the system does not say which file
            raise
        return b"".join(parts)

    def read_cached(self, size: int, offset: int) -> bytes | None:
        """Return the result of :meth:`read` if the system has it in memory, else None; never wait for the disk."""
        if _READ_CACHED is None or size > len(_cached):
            return None
        with memoryview(_cached)[:size] as part:
            try:
                count = os.preadv(self._descriptor, [part], offset, _READ_CACHED)
            except OSError:  # none of it is in memory, or this file system does not know
                return None
            return bytes(part[:count]) if count == size or offset + count == self.size() else None

    def next_data(self, offset: int) -> int | None:
        """Return where the first byte at ``offset`` or after it is that may not be 0; None if there is none."""
        if hasattr(os, "SEEK_DATA"):
            try:
                return os.lseek(self._descriptor, offset, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:
                    return None
        return offset if offset < self.size() else None

    def sync(self) -> None:
        """Return when the bytes, and the size if it matters, are on the disk (fdatasync).

        After an OSError the content of the disk is unknown, and a second sync that succeeds proves nothing.
        """
        os.fdatasync(self._descriptor)

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def close(self) -> None:
        """Close the file, and release a lock on it; closing twice is harmless."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class Directory:
    """An open directory: its names can be made durable also when no more files can be opened."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @property
    def identity(self) -> tuple[int, int]:
        """Device and number: as long as it is open, no other directory has the same."""
        status = os.fstat(self._descriptor)
        return status.st_dev, status.st_ino

    def sync(self) -> None:
        """Return when the names in the directory are on the disk."""
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


class Disk:
    """The file system of this machine."""

    def create(self, path: str) -> File:
        """Make a new file, open for reading and writing; raises FileExistsError."""
        return File(path, os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, FILE_MODE))

    def open(self, path: str, writable: bool = False) -> File:
        """Open an existing file; raises FileNotFoundError."""
        return File(path, os.open(path, (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC))

    def lock(self, path: str, existing: bool = False, shared: bool = False) -> File:
        """Lock ``path``, made if need be, for this process until the file is closed or the process ends.

        ``existing``: it is not made, and opened for reading only.  ``shared``: others may have it as well, if they
        share it, too.  Raises BlockingIOError if another process, or another open file of this one, holds the lock.
        """
        flags = os.O_RDONLY if existing else os.O_CREAT | os.O_RDWR
        file = File(path, descriptor := os.open(path, flags | os.O_CLOEXEC, FILE_MODE))
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise
        return file

    def exists(self, path: str) -> bool:
        """Tell whether there is a file or directory; raises OSError where the disk does not tell."""
        try:
            os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def list_directory(self, path: str) -> list[str]:
        """Return the names in a directory, sorted; raises FileNotFoundError."""
        return sorted(os.listdir(path))

    def make_directories(self, path: str, durable: bool = True) -> None:
        """Make ``path`` and its missing parents; those that were missing are durable, unless the caller syncs them."""
        parent = os.path.dirname(path)
        if os.path.isdir(path):
            return
        if parent and parent != path:
            self.make_directories(parent, durable)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)
        if durable:
            self.sync_directory(parent or ".")

    def remove(self, path: str) -> None:
        os.unlink(path)

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory; raises OSError for any other."""
        os.rmdir(path)

    def rename(self, path: str, new_path: str) -> None:
        """Rename a file; a file that had the new name is gone."""
        os.rename(path, new_path)

    def sync_directory(self, path: str) -> None:
        """Return when the names in the directory are on the disk."""
        with contextlib.closing(self.open_directory(path)) as directory:
            directory.sync()

    def open_directory(self, path: str) -> Directory:
        """Open a directory; raises FileNotFoundError."""
        return Directory(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def sync_group(self, directory: str) -> SyncGroup:
        """Return what makes many files below ``directory`` durable together; to be closed."""
        return SyncGroup(directory, self.sync_directory, syncs_whole(directory))

    def open_key_values(self, path: str, config: BookieConfig) -> KeyValues:
        """Open the RocksDB database in a directory, made if there is none; raises RefusedToStart."""
        # Only here: it needs rocksdict.
        from bookkeeper_tx.bookie.rocks_db import RocksDb

        return RocksDb(path, config)

    def has_key_values(self, path: str) -> bool:
        """Whether a directory has a RocksDB database: one that was emptied has none.  Raises OSError."""
        from bookkeeper_tx.bookie.rocks_db_opening import has_database

        return has_database(path)

    def remove_key_values(self, path: str) -> None:
        """Remove a RocksDB database that nobody has open, if there is one; after an OSError part of it may be there."""
        if self.exists(path):
            shutil.rmtree(path)

    def free_bytes(self, path: str) -> int:
        """Return the bytes that we may still write to the file system of ``path``."""
        status = os.statvfs(path)
        return status.f_bavail * status.f_frsize

    def total_bytes(self, path: str) -> int:
        status = os.statvfs(path)
        return status.f_blocks * status.f_frsize

    def read(self, path: str) -> bytes:
        """Return all bytes of a file; raises FileNotFoundError."""
        file = self.open(path)
        try:
            return file.read(file.size(), 0)
        finally:
            file.close()

    def replace(self, path: str, data: bytes) -> None:
        """Make ``data`` the content of ``path``, durably: a crash leaves the old content or the new.

        Data that fits a sector and has the size of the old content is written in place, also on a full disk.
        """
        if len(data) <= SECTOR_SIZE and self.exists(path):
            file = self.open(path, writable=True)
            try:
                if file.size() == len(data):
                    file.write(data, 0)
                    file.sync()
                    return
            finally:
                file.close()
        self._replace_by_rename(path, data)

    def _replace_by_rename(self, path: str, data: bytes) -> None:
        new_path = path + ".new"
        with contextlib.suppress(FileNotFoundError):
            self.remove(new_path)
        file = self.create(new_path)
        try:
            file.write(data, 0)
            file.sync()
        finally:
            file.close()
        self.rename(new_path, path)
        self.sync_directory(os.path.dirname(path) or ".")

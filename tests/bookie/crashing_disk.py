"""A disk in memory that forgets, at a crash, what was not synced: the double of bookkeeper_tx.bookie.disk.Disk.

Fault model: between two syncs of a file, sectors of 512 bytes reach the disk in any order or not at all, each whole;
its size may or may not have grown.  Between two syncs of a directory each change of a name happens or not, on its own;
what is below a directory whose name is lost is lost, too.  A sync that returned holds.  A write that fails has written
whole sectors of its bytes, or none.  A sync that fails takes what it did not write for written, as Linux does: the next
one has nothing to do, and only a crash shows what is missing.  ``fail_reads``, ``fail_writes``, ``fail_syncs``,
``fail_opens`` and ``fail_from`` let calls fail, ``crash_at`` ends the process in the middle of one, with the power
unless ``cuts_power`` is False; ``syncs_lie`` makes syncs do nothing.
"""

import errno
import os
from collections.abc import Collection, Sequence
from random import Random

from bookkeeper_tx.bookie.disk import Buffer, Directory, Disk, File
from bookkeeper_tx.bookie.key_values import KeyValues
from bookkeeper_tx.bookie.sync_group import SyncGroup
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart
from tests.bookie.crashing_key_values import CrashingKeyValues, Stored
from tests.bookie.crashing_node import SECTOR_SIZE, Node

DIRECTORY = "/data/current"
"""Where a bookie has all its files in tests."""


DISK_SIZE = 2**40


class Crashed(Exception):
    """The power failed, or the process was killed: every call fails until :meth:`CrashingDisk.restart`."""


class CrashingFile(File):
    """An open file of a CrashingDisk; it dies with the crash."""

    def __init__(self, path: str, disk: "CrashingDisk", node: Node) -> None:
        self.path = path
        self._disk = disk
        self._node = node
        self._life = disk.life

    def write(self, data: Buffer, offset: int) -> None:
        self._check()
        self._disk.admit_change()
        data = bytes(data)
        grown = max(offset + len(data) - len(self._node.data), 0)
        self._disk.admit_below(self.path, grown)
        written = self._disk.admit_write(offset, len(data), grown)
        if written:
            self._node.change(offset, data[:written])
        if written < len(data):
            raise OSError(self._disk.write_errno, os.strerror(self._disk.write_errno))
        self._disk.step()

    def write_many(self, buffers: Sequence[Buffer], offset: int) -> None:
        self.write(b"".join(buffers), offset)

    def read(self, size: int, offset: int) -> bytes:
        self._check()
        self._disk.admit_read(self.path)
        return bytes(self._node.data[offset : offset + size])

    def read_cached(self, size: int, offset: int) -> bytes | None:
        return self.read(size, offset) if self._disk.caches and not self._disk.reads_fail else None

    def next_data(self, offset: int) -> int | None:
        return offset if offset < self.size() else None

    def sync(self) -> None:
        self._check()
        try:
            self._disk.step()
            self._disk.admit_sync()
        except OSError:
            self._node.fail_sync(self._disk.random)
            raise
        if not self._disk.syncs_lie:
            self._node.sync()

    def size(self) -> int:
        self._check()
        return len(self._node.data)

    def truncate(self, size: int) -> None:
        self._check()
        self._disk.admit_change()
        self._node.change(size, None)
        self._disk.step()

    def close(self) -> None: ...

    def _check(self) -> None:
        self._disk.check_alive(self._life)


class CrashingLock(CrashingFile):
    """A file that is locked until it is closed."""

    def close(self) -> None:
        if self._life == self._disk.life:
            self._disk.unlock(self.path)


class CrashingDirectory(Directory):
    """An open directory of a CrashingDisk."""

    def __init__(self, path: str, disk: "CrashingDisk") -> None:
        self._path, self._disk = path, disk

    @property
    def identity(self) -> tuple[int, int]:
        return 0, hash(self._path)

    def sync(self) -> None:
        self._disk.sync_directory(self._path)

    def close(self) -> None: ...


class CrashingDisk(Disk):
    """Files and directories in memory.  ``seed`` decides what a crash leaves."""

    def __init__(self, seed: int = 0) -> None:
        self.random = Random(seed)
        self.syncs_lie = False
        self.read_only = False
        """Whether it refuses everything that would change it, or make something durable."""
        self.caches = False
        """Whether what was written or read is in memory."""
        self.life = 0
        self.crashed = False
        self.crash_at: int | None = None
        """Count of disk operations from now on at which the power fails, or the process ends."""
        self.cuts_power = True
        """Whether the power fails at ``crash_at``; else the process is killed there, and all that it has done stays."""
        self.write_errno = errno.ENOSPC
        self.capacity: int | None = None
        """Bytes that files may still grow by; None for no limit."""
        self.full_directories: Collection[str] = ()
        """No file below them grows."""
        self.broken_directories: Collection[str] = ()
        """No file below them can be written."""
        self._failing_reads = self._failing_writes = self._failing_syncs = self._failing_opens = 0
        self._failing_steps = range(0)
        self._step = 0
        self._names: dict[str, Node] = {}
        self._durable_names: dict[str, Node] = {}
        self._name_changes: list[tuple[str, dict[str, Node | None]]] = []
        self._directories = {os.sep}
        self._new_directories: set[str] = set()
        """Those that are not in their parent on the disk yet."""
        self._locks: set[str] = set()
        self._databases: dict[str, Stored] = {}

    # Faults -----------------------------------------------------------------------------------------------------

    def fail_reads(self, count: int) -> None:
        """Let the next ``count`` reads fail, and have nothing in memory until then."""
        self._failing_reads = count

    @property
    def reads_fail(self) -> bool:
        """Whether the next read fails."""
        return self._failing_reads > 0

    def fail_writes(self, count: int, error: int = errno.EIO) -> None:
        """Let the next ``count`` writes fail after part of their bytes."""
        self._failing_writes, self.write_errno = count, error

    def fail_syncs(self, count: int) -> None:
        self._failing_syncs = count

    def fail_opens(self, count: int) -> None:
        """Let the next ``count`` files and directories not be opened, for want of a descriptor."""
        self._failing_opens = count

    def fail_from(self, step: int, count: int = 1, error: int = errno.EIO) -> None:
        """Let ``count`` disk operations from the ``step``-th on from now fail, whatever they are.

        Such a one may have been done, but nothing is durable by it.
        """
        self._failing_steps, self._step, self.write_errno = range(step, step + count), 0, error

    def crash(self) -> None:
        """Lose the power now: what was not synced is kept or lost as the seed wills; open files are dead."""
        for _, names in self._name_changes:
            if self.random.random() < 0.5:
                self._put_names(self._durable_names, names)
        self._name_changes = []
        for node in {id(node): node for node in (*self._names.values(), *self._durable_names.values())}.values():
            node.crash(self.random)
        for directory in sorted(self._new_directories):
            if self.random.random() < 0.5:
                self._lose(directory)
        self._new_directories = set()
        self._databases = {path: each for path, each in self._databases.items() if path in self._directories}
        for database in self._databases.values():
            database.crash(self.random)
        self._names = dict(self._durable_names)
        self._locks.clear()
        self.crashed = True

    def kill(self) -> None:
        """End the process now: what it has done stays, in memory if it was not synced."""
        self._locks.clear()
        self.crashed = True

    def restart(self) -> None:
        """Power is back, or a new process begins."""
        if not self.crashed:
            self.crash()
        self.life += 1
        self.crashed = False
        self.crash_at = None
        self._failing_reads = self._failing_writes = self._failing_syncs = self._failing_opens = 0
        self._failing_steps = range(0)

    def step(self) -> None:
        """Count a disk operation that changes something; the power may fail in it."""
        if self.crashed:
            raise Crashed
        self.admit_change()
        if self.crash_at is not None:
            self.crash_at -= 1
            if self.crash_at < 0:
                if self.cuts_power:
                    self.crash()
                else:
                    self.kill()
                raise Crashed
        self._step += 1
        if self._step - 1 in self._failing_steps:
            raise OSError(self.write_errno, os.strerror(self.write_errno))

    def admit_change(self) -> None:
        if self.read_only:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def admit_write(self, offset: int, size: int, grown: int) -> int:
        """Return how many of ``size`` bytes are written, ``grown`` of them past the end of the file."""
        if self._failing_writes:
            self._failing_writes -= 1
            end = offset + self.random.randrange(size)
            return max(end - end % SECTOR_SIZE - offset, 0)
        if self.capacity is not None:
            if grown > self.capacity:
                self.write_errno = errno.ENOSPC
                return size - grown
            self.capacity -= grown
        return size

    def admit_below(self, path: str, grown: int) -> None:
        """Raise OSError if a file is where none can be written, or grow."""
        if grown and any(path.startswith(each + os.sep) for each in self.full_directories):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        if any(path.startswith(each + os.sep) for each in self.broken_directories):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    def admit_batch(self, size: int) -> None:
        """Raise OSError if no batch of so many bytes can be written."""
        if self._failing_writes or (self.capacity is not None and size > self.capacity):
            self.admit_write(0, max(size, 1), size)
            raise OSError(self.write_errno, os.strerror(self.write_errno))
        self.admit_write(0, size, size)

    def check_alive(self, life: int) -> None:
        """Raise Crashed in a process that has not outlived the last crash."""
        if life != self.life or self.crashed:
            raise Crashed

    def admit_sync(self) -> None:
        if self._failing_syncs:
            self._failing_syncs -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def admit_read(self, path: str) -> None:
        if self._failing_reads:
            self._failing_reads -= 1
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    def admit_open(self) -> None:
        if self._failing_opens:
            self._failing_opens -= 1
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    # The interface of Disk --------------------------------------------------------------------------------------

    def create(self, path: str) -> File:
        self.step()
        self.admit_open()
        if path in self._names:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        if os.path.dirname(path) not in self._directories:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        node = Node()
        self._change_names(os.path.dirname(path), {path: node})
        return CrashingFile(path, self, node)

    def open(self, path: str, writable: bool = False) -> File:
        self.admit_open()
        if writable:
            self.admit_change()
        return CrashingFile(path, self, self._node(path))

    def lock(self, path: str, existing: bool = False, shared: bool = False) -> File:
        if not existing:
            self.admit_change()
        if path in self._locks:
            raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK), path)
        if path not in self._names and not existing:
            self.create(path)
        self.admit_open()
        node = self._node(path)
        self._locks.add(path)
        return CrashingLock(path, self, node)

    def unlock(self, path: str) -> None:
        self._locks.discard(path)

    def exists(self, path: str) -> bool:
        self.admit_below(path, 0)
        return path in self._names or path in self._directories

    def list_directory(self, path: str) -> list[str]:
        self.admit_open()
        if path in self._names:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        if path not in self._directories:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        start = path.rstrip(os.sep) + os.sep
        below = [each[len(start) :] for each in (*self._names, *self._directories) if each.startswith(start)]
        return sorted(each for each in below if each and os.sep not in each)

    def make_directories(self, path: str, durable: bool = True) -> None:
        while path not in self._directories:
            self.admit_change()
            self._directories.add(path)
            if not durable:
                self._new_directories.add(path)
            path = os.path.dirname(path)

    def remove(self, path: str) -> None:
        self.admit_change()
        node = self._node(path)
        if self.capacity is not None:
            self.capacity += len(node.data)
        self._change_names(os.path.dirname(path), {path: None})
        self.step()

    def remove_directory(self, path: str) -> None:
        self.admit_change()
        if self.list_directory(path):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        self._directories.discard(path)
        self._new_directories.discard(path)
        self.step()

    def rename(self, path: str, new_path: str) -> None:
        self.admit_change()
        self._change_names(os.path.dirname(path), {new_path: self._node(path), path: None})
        self.step()

    def sync_directory(self, path: str) -> None:
        self.step()
        self.admit_sync()
        if self.syncs_lie:
            return
        for directory, names in self._name_changes:
            if directory == path:
                self._put_names(self._durable_names, names)
        self._name_changes = [each for each in self._name_changes if each[0] != path]
        self._new_directories = {each for each in self._new_directories if os.path.dirname(each) != path}

    def open_directory(self, path: str) -> Directory:
        self.admit_open()
        return CrashingDirectory(path, self)

    def sync_group(self, directory: str) -> SyncGroup:
        return SyncGroup(directory, self.sync_directory, whole=False, threads_max=1)

    def open_key_values(self, path: str, config: BookieConfig) -> KeyValues:
        try:
            self.admit_open()
            if path not in self._databases:
                self.make_directories(path, durable=False)
                self._databases[path] = Stored()
        except OSError as error:
            raise RefusedToStart(f"the database in {path} cannot be opened: {error}") from error
        if not self.syncs_lie:
            self._databases[path].sync()  # an opening writes what it finds in the log into a table file
        return CrashingKeyValues(path, self._databases[path], self)

    def database(self, path: str) -> Stored | None:
        """Return the database to which a path leads, None if there is none."""
        return self._databases.get(path)

    def has_key_values(self, path: str) -> bool:
        return path in self._databases

    def remove_key_values(self, path: str) -> None:
        if path in self._databases:
            self.step()
            self._directories.discard(path)
            del self._databases[path]

    def free_bytes(self, path: str) -> int:
        if path in self.full_directories:
            return 0
        return self.total_bytes(path) if self.capacity is None else self.capacity

    def total_bytes(self, path: str) -> int:
        return DISK_SIZE

    # ------------------------------------------------------------------------------------------------------------

    def _lose(self, directory: str) -> None:
        below = directory + os.sep
        self._directories = {each for each in self._directories if each != directory and not each.startswith(below)}
        self._durable_names = {path: node for path, node in self._durable_names.items() if not path.startswith(below)}

    def _node(self, path: str) -> Node:
        if self.crashed:
            raise Crashed
        if path not in self._names:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self._names[path]

    def _change_names(self, directory: str, names: dict[str, Node | None]) -> None:
        self._name_changes.append((directory, names))
        self._put_names(self._names, names)

    @staticmethod
    def _put_names(target: dict[str, Node], names: dict[str, Node | None]) -> None:
        for path, node in names.items():
            if node is None:
                target.pop(path, None)
            else:
                target[path] = node


def new_disk(seed: int = 0) -> CrashingDisk:
    """Return a disk with nothing on it but the directory of a bookie."""
    disk = CrashingDisk(seed)
    disk.make_directories(DIRECTORY)
    return disk

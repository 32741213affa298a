"""The disk of a bookie: it forgets what was not synced when the power fails, and has more faults while it is up."""

import errno
import os
from collections.abc import Callable

from bookkeeper_tx.bookie.disk import File
from tests.bookie.crashing_disk import CrashingDisk
from tests.bookie.crashing_node import Node

SECTOR = 512

NameChange = tuple[str, dict[str, Node | None]]


class FaultyDisk(CrashingDisk):
    """Also stalls, and turns read-only; a process can be killed without a loss of what it has written."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.caches = True
        self.stalled_until = 0.0
        self.read_only = False
        self.on_crash: Callable[[], None] = lambda: None
        self._unmounted: tuple[dict[str, Node], dict[str, Node], list[NameChange], set[str], set[str]] | None = None
        """What was under the paths before it was unmounted."""

    def crash(self) -> None:
        self.mount()
        super().crash()
        self.on_crash()

    def unmount(self) -> None:
        """Let no path lead to what is stored; files that are open still do."""
        if self._unmounted is None and not self.crashed:
            self._unmounted = self._tree
            self._tree = {}, {}, [], {os.sep}, set()

    def mount(self) -> None:
        """Bring all paths back."""
        if self._unmounted is not None:
            self._tree, self._unmounted = self._unmounted, None

    @property
    def _tree(self) -> tuple[dict[str, Node], dict[str, Node], list[NameChange], set[str], set[str]]:
        return self._names, self._durable_names, self._name_changes, self._directories, self._new_directories

    @_tree.setter
    def _tree(self, tree: tuple[dict[str, Node], dict[str, Node], list[NameChange], set[str], set[str]]) -> None:
        self._names, self._durable_names, self._name_changes, self._directories, self._new_directories = tree

    def process_ended(self) -> None:
        """Release what a process had: its locks, and its open files, which are dead."""
        self._locks.clear()
        self.life += 1

    def admit_write(self, offset: int, size: int, grown: int) -> int:
        if self.read_only:
            self.write_errno = errno.EROFS
            return 0
        return super().admit_write(offset, size, grown)

    def create(self, path: str) -> File:
        self._require_writable(path)
        return super().create(path)

    def open(self, path: str, writable: bool = False) -> File:
        if writable:
            self._require_writable(path)
        return super().open(path, writable)

    def remove(self, path: str) -> None:
        self._require_writable(path)
        super().remove(path)

    def rename(self, path: str, new_path: str) -> None:
        self._require_writable(path)
        super().rename(path, new_path)

    def flip_bit(self, path: str, bit: int) -> None:
        """Damage a file, as a disk does that ages: what was synced has another bit."""
        node = self._names[path]
        for data in node.data, node.durable:
            if bit // 8 < len(data):
                data[bit // 8] ^= 1 << bit % 8

    def lose(self, path: str) -> None:
        """Lose a file, and its name."""
        self._put_names(self._names, {path: None})
        self._put_names(self._durable_names, {path: None})
        self._name_changes = [each for each in self._name_changes if path not in each[1]]

    def zero(self, path: str, offset: int, size: int) -> None:
        """Damage a file: bytes read as zeros."""
        node = self._names[path]
        for data in node.data, node.durable:
            data[offset : offset + size] = bytes(len(data[offset : offset + size]))

    def misdirect(self, path: str, sector: int, other: int) -> None:
        """Damage a file: what was to be written to a sector has gone to another one."""
        node = self._names[path]
        place, elsewhere = slice(sector * SECTOR, (sector + 1) * SECTOR), slice(other * SECTOR, (other + 1) * SECTOR)
        for data in node.data, node.durable:
            size = min(len(data[place]), len(data[elsewhere]))
            data[other * SECTOR : other * SECTOR + size] = data[place][:size]
            data[place] = bytes(len(data[place]))

    def paths(self) -> list[str]:
        """Return the files that there are; none while there is no power."""
        return [] if self.crashed else list(self._names)

    def _require_writable(self, path: str) -> None:
        if self.read_only:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

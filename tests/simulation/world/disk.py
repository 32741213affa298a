"""The disk of a bookie: it forgets what was not synced when the power fails, and has more faults while it is up."""

import errno
import os
from collections.abc import Callable

from bookkeeper_tx.bookie.disk import File
from protocol_specs.disk.ledger_index import INDEX_SUFFIX
from tests.bookie.crashing_disk import CrashingDisk
from tests.bookie.crashing_key_values import Content, Stored
from tests.bookie.crashing_node import Node

SECTOR = 512

Tree = tuple[
    dict[str, Node], dict[str, Node], list[tuple[str, dict[str, Node | None]]], set[str], set[str], dict[str, Stored]
]
"""The names of a disk, those that are durable, changes of names, directories, those that are not durable, databases."""

Snapshot = tuple[dict[str, bytes], dict[str, Content]]
"""The bytes of files, and the keys and values of databases."""


def _part(tree: Tree, chosen: Callable[[str], bool]) -> Tree:
    """Return what is at the paths that are chosen."""
    names, durable, changes, directories, new, databases = tree
    parts = [(directory, {path: node for path, node in each.items() if chosen(path)}) for directory, each in changes]
    return (
        {path: node for path, node in names.items() if chosen(path)},
        {path: node for path, node in durable.items() if chosen(path)},
        [each for each in parts if each[1]],
        set(filter(chosen, directories)),
        set(filter(chosen, new)),
        {path: each for path, each in databases.items() if chosen(path)},
    )


class FaultyDisk(CrashingDisk):
    """Also stalls, and turns read-only; a process can be killed without a loss of what it has written."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.caches = True
        self.stalled_until = 0.0
        self.read_only = False
        self.on_crash: Callable[[], None] = lambda: None
        self._reads_have_failed = False
        self._hidden: tuple[Tree, Callable[[str], bool]] | None = None
        """What paths have led to that lead to nothing now, and which paths are forgotten that are made meanwhile."""

    def crash(self) -> None:
        self.mount()
        super().crash()
        self.on_crash()

    def unmount(self, directory: str = os.sep) -> None:
        """Let no path lead to what is stored below a directory, which is empty then; files that are open still do.

        What is made in their place is not seen any more after :meth:`mount`.
        """
        below = directory.rstrip(os.sep) + os.sep

        def is_below(path: str) -> bool:
            return path.startswith(below) and path != below

        self._hide(is_below, is_below)

    def move_indexes_away(self) -> None:
        """Let there be no index files and no databases until :meth:`mount`."""
        databases = set(self._databases)
        self._hide(lambda path: path.endswith(INDEX_SUFFIX) or path in databases, lambda path: False)

    def _hide(self, chosen: Callable[[str], bool], forgotten: Callable[[str], bool]) -> None:
        if self._hidden is None and not self.crashed:
            self._hidden = _part(self._tree, chosen), forgotten
            self._tree = _part(self._tree, lambda path: not chosen(path))

    @property
    def is_whole(self) -> bool:
        """Whether all paths lead to what is stored, and none of it has ever failed to be read."""
        return self._hidden is None and not self._reads_have_failed

    def mount(self) -> None:
        """Bring all paths back, and make them durable, as who unmounts a file system or moves files does."""
        if self._hidden is not None:
            (names, durable, changes, directories, new, databases), forgotten = self._hidden
            made = _part(self._tree, lambda path: not forgotten(path))
            self._hidden = None
            self._tree = (
                made[0] | names,
                made[1] | durable | names,
                changes + made[2],
                made[3] | directories,
                made[4] | new,
                made[5] | databases,
            )

    @property
    def _tree(self) -> Tree:
        names = self._names, self._durable_names, self._name_changes, self._directories, self._new_directories
        return *names, self._databases

    @_tree.setter
    def _tree(self, tree: Tree) -> None:
        self._names, self._durable_names, self._name_changes, self._directories, self._new_directories = tree[:5]
        self._databases = tree[5]

    def process_ended(self) -> None:
        """Release what a process had: its locks, and its open files, which are dead."""
        self._locks.clear()
        self.life += 1

    def admit_read(self, path: str) -> None:
        self._reads_have_failed |= self.reads_fail
        super().admit_read(path)

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

    def content(self, path: str) -> bytes:
        """Return all bytes of a file as they are; none if there is no such file, or no power."""
        return b"" if self.crashed or path not in self._names else bytes(self._names[path].data)

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

    def snapshot(self, directory: str) -> Snapshot:
        """Return what is below a directory now; nothing while there is no power, or while it is not mounted."""
        below = directory + os.sep
        if self.crashed or self._hidden is not None:
            return {}, {}
        return (
            {path: bytes(node.data) for path, node in self._names.items() if path.startswith(below)},
            {path: each.now.copy() for path, each in self._databases.items() if path.startswith(below)},
        )

    def roll_back(self, directory: str, snapshot: Snapshot) -> None:
        """Have below a directory what was there at a snapshot, durably; its directories stay."""
        self.mount()
        below = directory + os.sep
        files, databases = snapshot
        for path in [each for each in {**self._names, **self._durable_names} if each.startswith(below)]:
            self.lose(path)
        for path, data in files.items():
            self._names[path] = self._durable_names[path] = Node()
            self._names[path].data, self._names[path].durable = bytearray(data), bytearray(data)
        for path in [each for each in self._databases if each.startswith(below)]:
            del self._databases[path]
            self._directories.discard(path)
        for path, content in databases.items():
            self._databases[path] = Stored()
            self._databases[path].now, self._databases[path].durable = content.copy(), content.copy()
            self._directories.add(path)

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

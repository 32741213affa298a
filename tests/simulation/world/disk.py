"""The disk of a bookie: it forgets what was not synced when the power fails, and has more faults while it is up."""

import errno
import os
from collections.abc import Callable

from bookkeeper_tx.bookie.disk import File
from tests.bookie.crashing_disk import Crashed, CrashingDisk
from tests.bookie.crashing_node import Node


class FaultyDisk(CrashingDisk):
    """Also stalls, and turns read-only; a process can be killed without a loss of what it has written."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.caches = True
        self.stalled_until = 0.0
        self.read_only = False
        self.on_crash: Callable[[], None] = lambda: None

    def crash(self) -> None:
        super().crash()
        self.on_crash()

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

    def files(self) -> dict[str, Node]:
        """Return what there is."""
        if self.crashed:
            raise Crashed
        return dict(self._names)

    def _require_writable(self, path: str) -> None:
        if self.read_only:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

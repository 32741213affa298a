"""A bounded number of files kept open for reading, shared by the threads that read them."""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from bookkeeper_tx.bookie.disk import Disk, File, out_of_descriptors


class _Open:
    __slots__ = ("borrowers", "file", "forgotten")

    def __init__(self, file: File) -> None:
        self.file = file
        self.borrowers = 0
        self.forgotten = False


class OpenFiles:
    """The ``count_max`` files used last stay open; a file in use is closed only when its last borrower is done.

    No thread holds the lock while it opens a file, so a slow disk delays no reader of a file that is open.
    """

    def __init__(self, disk: Disk, count_max: int) -> None:
        self._disk = disk
        self._count_max = count_max
        self._open: OrderedDict[str, _Open] = OrderedDict()
        self._forgotten_count = 0
        """Counts what was forgotten: a file that was opened before may be another one than its path names now."""
        self._lock = Lock()

    @contextmanager
    def borrow(self, path: str) -> Iterator[File]:
        """Lend the file of this path to a ``with`` block; raises OSError."""
        opened = self._acquire(path)
        try:
            yield opened.file
        finally:
            self._release(opened)

    @contextmanager
    def borrow_open(self, path: str) -> Iterator[File | None]:
        """Lend the file as :meth:`borrow` does, but give None if it would have to be opened or waited for."""
        opened = None
        if self._lock.acquire(blocking=False):
            try:
                opened = self._open.get(path)
                if opened is not None:
                    self._open.move_to_end(path)
                    opened.borrowers += 1
            finally:
                self._lock.release()
        try:
            yield None if opened is None else opened.file
        finally:
            if opened is not None:
                self._release(opened)

    def forget(self, path: str) -> None:
        """Open the file anew the next time: another file has its name now."""
        with self._lock:
            self._forgotten_count += 1
            opened = self._open.pop(path, None)
            if opened is not None:
                self._drop(opened)

    def close(self) -> None:
        """Close all files, each when its last borrower is done."""
        with self._lock:
            self._forgotten_count += 1
            while self._open:
                self._drop(self._open.popitem()[1])

    def _acquire(self, path: str) -> _Open:
        with self._lock:
            opened = self._open.get(path)
            if opened is not None:
                self._open.move_to_end(path)
                opened.borrowers += 1
                return opened
            forgotten_count = self._forgotten_count
        opened = _Open(self._open_file(path))
        with self._lock:
            if path in self._open or forgotten_count != self._forgotten_count:
                opened.forgotten = True
            else:
                self._open[path] = opened
                if len(self._open) > self._count_max:
                    self._drop(self._open.popitem(last=False)[1])
            opened.borrowers += 1
            return opened

    def _open_file(self, path: str) -> File:
        try:
            return self._disk.open(path)
        except OSError as error:
            if not self._open or not out_of_descriptors(error):
                raise
        with self._lock:
            while self._open:  # these can be opened again
                self._drop(self._open.popitem()[1])
        return self._disk.open(path)

    def _release(self, opened: _Open) -> None:
        with self._lock:
            opened.borrowers -= 1
            if opened.forgotten and not opened.borrowers:
                opened.file.close()

    @staticmethod
    def _drop(opened: _Open) -> None:
        opened.forgotten = True
        if not opened.borrowers:
            opened.file.close()

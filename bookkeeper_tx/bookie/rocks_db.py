"""RocksDB through rocksdict, with files that Java's RocksDB reads as well.

``write`` and the iterators of rocksdict keep all Python threads waiting; its ``flush_wal``, the ``get`` of a list,
``compact_range`` and ``close`` do not.  So batches are small and never synced by the write itself, a write that RocksDB
would hold up is tried again later, and what an iterator will need is brought into RocksDB's memory before.
"""

import contextlib
import errno
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any, Final, TypeVar

from bookkeeper_tx.bookie.rocks_db_errors import os_error, raising
from bookkeeper_tx.bookie.rocks_db_opening import RocksDbOpening, free_bytes, has_database
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart

BATCH_COUNT: Final = 4096
"""Changes written at once: less than a millisecond, in which nothing else runs."""

ESTIMATED_COUNT: Final = "rocksdb.estimate-num-keys"
"""The property that Java's bookie asks as well, from the counts that RocksDB keeps of each file."""

STALLED: Final = "result incomplete"
"""So begins what RocksDB says of a write that it would hold up."""

STALL_S: Final = 0.01
"""How long to wait for RocksDB when it has too much to write."""

_Result = TypeVar("_Result")


class RocksDb:
    """A RocksDB database as :class:`~bookkeeper_tx.bookie.key_values.KeyValues`, made if there is none.

    On a disk that is full, or takes no writes, it is opened for reading only, and each change tries to open it for
    writing.  ``reading_only``: nothing is made, or ever written there.  Raises RefusedToStart if it cannot be opened.
    """

    def __init__(self, path: str, config: BookieConfig, reading_only: bool = False) -> None:
        self.path = path
        self._opening = RocksDbOpening(path, config)
        self._binding = self._opening.binding
        self._write_options = self._binding.WriteOptions()
        self._write_options.no_slowdown = True
        self._reading_only = reading_only
        self._writable = self._closed = False
        self._opens = Lock()
        try:
            if reading_only:
                self._db = self._opening.for_reading()
            else:
                self._opening.make_directory()
                self._db, self._writable = self._opening.as_can_be()
        except Exception as error:
            raise RefusedToStart(self._opening.why_not(error)) from error

    def get(self, key: bytes) -> bytes | None:
        return self._found([key])[0]

    def keys(self) -> Iterator[bytes]:
        db, last = self._db, b""
        found = db.keys()
        for last in found:
            yield last
        self._check_end(db, last, self._binding.ReadOptions())

    def values(self, first: bytes, end: bytes, count: int) -> list[bytes]:
        db = self._db
        self._found([first, end])
        reading = self._before(end)
        found: list[bytes] = self._raising(lambda: list(db.values(from_key=first, read_opt=reading)))
        return found if len(found) == count else [value for _, value in self.items(first, end, count)]

    def items(self, first: bytes, end: bytes, count: int) -> list[tuple[bytes, bytes]]:
        db = self._db
        self._found([first, end])
        reading = self._before(end)
        found = self._raising(lambda: list(db.items(from_key=first, read_opt=reading)))
        if len(found) < count:
            self._check_end(db, found[-1][0] if found else first, reading)
        return found

    def next_key(self, first: bytes, end: bytes) -> bytes | None:
        self._found([first])
        found = self._iterator(self._before(end))
        found.seek(first)
        self._raising(found.status)
        return found.key() if found.valid() else None

    def last_item(self, first: bytes, end: bytes) -> tuple[bytes, bytes] | None:
        self._found([first, end])
        found = self._iterator(self._binding.ReadOptions())
        found.seek_for_prev(end)
        if found.valid() and found.key() == end:
            found.prev()
        self._raising(found.status)
        return (found.key(), found.value()) if found.valid() and found.key() >= first else None

    def estimated_count(self) -> int:
        found: int | None = self._raising(lambda: self._db.property_int_value(ESTIMATED_COUNT))
        if found is None:
            raise OSError(errno.EIO, f"RocksDB has no {ESTIMATED_COUNT}", self.path)
        return found

    def put(self, keys: Sequence[bytes], values: Sequence[bytes]) -> None:
        for at in range(0, len(keys), BATCH_COUNT):
            end = at + BATCH_COUNT
            self._write("put", keys[at:end], values[at:end])

    def delete_ranges(self, ranges: Sequence[tuple[bytes, bytes]]) -> None:
        for at in range(0, len(ranges), BATCH_COUNT):
            firsts, ends = zip(*ranges[at : at + BATCH_COUNT], strict=True)
            self._write("delete_range", firsts, ends)

    def sync(self) -> None:
        self._require_writable()
        try:
            self._db.flush_wal(True)
        except Exception as error:
            self._reopen()
            raise os_error(error, self.path) from error

    def compact(self) -> None:
        self._require_writable()
        # The binding does not tell when a compaction has failed.
        needed = 0
        for each in os.scandir(self.path):
            with contextlib.suppress(FileNotFoundError):  # another table has replaced it
                needed += each.stat().st_size * each.name.endswith(".sst")
        if free_bytes(self.path) < needed:
            raise OSError(errno.ENOSPC, f"a compaction may need {needed} bytes that are free", self.path)
        self._raising(lambda: self._db.compact_range(None, None))

    def close(self) -> None:
        self._closed = True
        try:
            self._raising(self._close)
        finally:
            self._opening.end()

    def _require_writable(self) -> None:
        """Open it for writing if it is open for reading only; raises OSError where that still cannot be."""
        if self._reading_only:
            raise OSError(errno.EROFS, "this database was opened for reading only", self.path)
        with self._opens:
            if not self._writable and not self._closed:
                # Who still reads in the other one, by its links, ends that; nobody writes there.
                self._db, self._writable = self._opening.for_writing_now(), True

    def _close(self) -> None:
        """Close it once no other thread is in it: RocksDB ends a compaction then, whose old files are still there."""
        cancelled = False
        while True:
            try:
                self._db.close()
            except RuntimeError:  # the binding: already borrowed
                cancelled = True
                self._db.cancel_all_background(False)
                time.sleep(STALL_S)
            except Exception as error:
                if cancelled and "shutdown in progress" in str(error).lower():
                    return  # its memory is not written to a table file, but is in its log
                raise
            else:
                return

    def _reopen(self) -> None:
        """Open it anew: RocksDB refuses all writes after one that has failed.  What is not on the disk is lost then."""
        with contextlib.suppress(Exception):
            self._close()
        self._opening.end()
        # If that fails this one refuses all calls, and each write tries again.  A new database would have nothing of
        # what is stored, so none is made if the path leads nowhere now: the binding makes even directories.
        with contextlib.suppress(Exception):
            if has_database(self.path) and not self._closed:
                self._db, self._writable = self._opening.as_can_be()

    def _write(self, change: str, *arguments: Sequence[bytes]) -> None:
        """Make changes of one kind, together; ``arguments`` has those of each."""
        self._require_writable()
        while True:
            batch = self._binding.WriteBatch(raw_mode=True)
            deque(map(getattr(batch, change), *arguments), maxlen=0)
            try:
                self._db.write(batch, self._write_options)
            except Exception as error:
                if not str(error).lower().startswith(STALLED):
                    self._reopen()
                    raise os_error(error, self.path) from error
                time.sleep(STALL_S)
            else:
                return

    def _found(self, keys: list[bytes]) -> list[bytes | None]:
        """Return the values of some keys; waits for the disk without keeping other threads from work."""
        values: list[bytes | None] = self._raising(lambda: self._db.get(keys))
        return values

    def _before(self, end: bytes) -> Any:
        reading = self._binding.ReadOptions()
        reading.set_iterate_upper_bound(end)
        return reading

    def _iterator(self, reading: Any) -> Any:
        return self._raising(lambda: self._db.iter(reading))

    def _check_end(self, db: Any, last: bytes, reading: Any) -> None:
        """Raise the error that has ended an iteration after ``last``, if any: iterators keep silent of it."""
        found = self._raising(lambda: db.iter(reading))
        found.seek(last + b"\0")
        self._raising(found.status)

    def _raising(self, read: Callable[[], _Result]) -> _Result:
        return raising(read, self._opening.told)

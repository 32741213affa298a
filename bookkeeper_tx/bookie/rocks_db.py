"""RocksDB through rocksdict, with files that Java's RocksDB reads as well.

``write`` and the iterators of rocksdict keep all Python threads waiting; its ``flush_wal``, the ``get`` of a list,
``compact_range`` and ``close`` do not.  So batches are small and never synced by the write itself, a write that RocksDB
would hold up is tried again later, and what an iterator will need is brought into RocksDB's memory before.
"""

import contextlib
import errno
import os
import re
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from bookkeeper_tx.bookie.key_values import DAMAGED, NOT_OPEN
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart
from protocol_specs.disk.db_index import ROCKSDB_FORMAT_VERSION

BATCH_COUNT: Final = 4096
"""Changes written at once: less than a millisecond, in which nothing else runs."""

STALL_S: Final = 0.01
"""How long to wait for RocksDB when it has too much to write."""

DATABASES_MAX: Final = 4
"""A storage has at most so many, which share ``open_index_files_max`` for their table files."""

OPEN_TABLES_MIN: Final = 16
"""RocksDB needs some."""

DIRECTORY_MODE: Final = 0o700
"""RocksDB lets everyone read its files, in which are the master keys of ledgers."""

CURRENT: Final = "CURRENT"
"""A file that every database has."""

WRITTEN_AT_OPEN: Final = frozenset({"LOCK", "LOG", "rocksdict-config.json"})
"""Files that even an opening for reading only writes."""

TOLD_NUMBERS: Final = (errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.EIO)
"""Errors that others know by their number: a full disk, too many open files, a broken disk."""

NOT_OPEN_TEXTS: Final = ("closed", "borrowed", "shutdown in progress")
"""What the binding says of a database that was closed, is being closed in another thread, or ends its work before."""

_Result = TypeVar("_Result")


class RocksDb:
    """A RocksDB database as :class:`~bookkeeper_tx.bookie.key_values.KeyValues`, made if there is none.

    ``reading_only``: nothing is made, or written there.  Raises RefusedToStart if it cannot be opened.
    """

    def __init__(self, path: str, config: BookieConfig, reading_only: bool = False) -> None:
        self.path = path
        self._rocksdict = _binding()
        self._options = _options(self._rocksdict, config)
        self._write_options = self._rocksdict.WriteOptions()
        self._write_options.no_slowdown = True
        self._links: tempfile.TemporaryDirectory[str] | None = None
        try:
            if not reading_only:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(path, DIRECTORY_MODE)
            reading_only = reading_only or bool(os.statvfs(path).f_flag & os.ST_RDONLY)
            self._db = self._open_read_only() if reading_only else self._open()
        except Exception as error:
            raise RefusedToStart(_why_not(path, error, self._rocksdict)) from error

    def get(self, key: bytes) -> bytes | None:
        return self._found([key])[0]

    def keys(self) -> Iterator[bytes]:
        last = b""
        found = self._db.keys()
        for last in found:
            yield last
        self._check_end(last, self._rocksdict.ReadOptions())

    def values(self, first: bytes, end: bytes, count: int) -> list[bytes]:
        self._found([first, end])
        reading = self._before(end)
        found: list[bytes] = _raising(lambda: list(self._db.values(from_key=first, read_opt=reading)))
        return found if len(found) == count else [value for _, value in self.items(first, end, count)]

    def items(self, first: bytes, end: bytes, count: int) -> list[tuple[bytes, bytes]]:
        self._found([first, end])
        reading = self._before(end)
        found = _raising(lambda: list(self._db.items(from_key=first, read_opt=reading)))
        if len(found) < count:
            self._check_end(found[-1][0] if found else first, reading)
        return found

    def next_key(self, first: bytes, end: bytes) -> bytes | None:
        self._found([first])
        found = self._iterator(self._before(end))
        found.seek(first)
        _raising(found.status)
        return found.key() if found.valid() else None

    def last_item(self, first: bytes, end: bytes) -> tuple[bytes, bytes] | None:
        self._found([first, end])
        found = self._iterator(self._rocksdict.ReadOptions())
        found.seek_for_prev(end)
        if found.valid() and found.key() == end:
            found.prev()
        _raising(found.status)
        return (found.key(), found.value()) if found.valid() and found.key() >= first else None

    def put(self, keys: Sequence[bytes], values: Sequence[bytes]) -> None:
        for at in range(0, len(keys), BATCH_COUNT):
            end = at + BATCH_COUNT
            self._write("put", keys[at:end], values[at:end])

    def delete_ranges(self, ranges: Sequence[tuple[bytes, bytes]]) -> None:
        for at in range(0, len(ranges), BATCH_COUNT):
            firsts, ends = zip(*ranges[at : at + BATCH_COUNT], strict=True)
            self._write("delete_range", firsts, ends)

    def sync(self) -> None:
        try:
            self._db.flush_wal(True)
        except Exception as error:
            self._reopen()
            raise _os_error(error, self.path) from error

    def compact(self) -> None:
        # The binding does not tell when a compaction has failed.
        needed = 0
        for each in os.scandir(self.path):
            with contextlib.suppress(FileNotFoundError):  # another table has replaced it
                needed += each.stat().st_size * each.name.endswith(".sst")
        disk = os.statvfs(self.path)
        if disk.f_bavail * disk.f_frsize < needed:
            raise OSError(errno.ENOSPC, f"a compaction may need {needed} bytes that are free", self.path)
        _raising(lambda: self._db.compact_range(None, None))

    def close(self) -> None:
        _raising(self._close)
        if self._links is not None:
            self._links.cleanup()

    def _open(self) -> Any:
        # The options of the default column family are those of the files otherwise, if these can be read.
        return self._rocksdict.Rdict(self.path, self._options, {"default": self._options})

    def _open_read_only(self) -> Any:
        """Open it where nothing may be written, by links to its files: the binding writes beside them."""
        self._links = tempfile.TemporaryDirectory(prefix="bktx-rocksdb-")
        for name in os.listdir(self.path):
            if name not in WRITTEN_AT_OPEN:
                os.symlink(os.path.join(os.path.abspath(self.path), name), os.path.join(self._links.name, name))
        access = self._rocksdict.AccessType.read_only(False)
        return self._rocksdict.Rdict(self._links.name, self._options, {"default": self._options}, access)

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
        # If that fails this one refuses all calls, and each write tries again.  A new database would have nothing of
        # what is stored, so none is made if the path leads nowhere now: the binding makes even directories.
        with contextlib.suppress(Exception):
            if has_database(self.path):
                self._db = self._open()

    def _write(self, change: str, *arguments: Sequence[bytes]) -> None:
        """Make changes of one kind, together; ``arguments`` has those of each."""
        while True:
            batch = self._rocksdict.WriteBatch(raw_mode=True)
            deque(map(getattr(batch, change), *arguments), maxlen=0)
            try:
                self._db.write(batch, self._write_options)
            except Exception as error:
                if "stall" not in str(error).lower():
                    self._reopen()
                    raise _os_error(error, self.path) from error
                time.sleep(STALL_S)
            else:
                return

    def _found(self, keys: list[bytes]) -> list[bytes | None]:
        """Return the values of some keys; waits for the disk without keeping other threads from work."""
        values: list[bytes | None] = _raising(lambda: self._db.get(keys))
        return values

    def _before(self, end: bytes) -> Any:
        reading = self._rocksdict.ReadOptions()
        reading.set_iterate_upper_bound(end)
        return reading

    def _iterator(self, reading: Any) -> Any:
        return _raising(lambda: self._db.iter(reading))

    def _check_end(self, last: bytes, reading: Any) -> None:
        """Raise the error that has ended an iteration after ``last``, if there was one: iterators keep silent of it."""
        found = self._iterator(reading)
        found.seek(last + b"\0")
        _raising(found.status)


def has_database(path: str) -> bool:
    """Whether a directory has a database: one that was emptied has none.  Raises OSError."""
    try:
        os.stat(os.path.join(path, CURRENT))
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _binding() -> Any:
    try:
        import rocksdict
    except ImportError as error:
        raise RefusedToStart(
            f"DbLedgerStorage needs RocksDB ({error}): pip install 'bookkeeper_tx[rocksdb]', or choose another "
            "ledgerStorageClass for a new bookie"
        ) from error
    return rocksdict


def _options(rocksdict: Any, config: BookieConfig) -> Any:
    table = rocksdict.BlockBasedOptions()
    table.set_block_size(config.rocksdb_block_bytes)
    table.set_block_cache(rocksdict.Cache(config.rocksdb_block_cache_bytes))
    table.set_cache_index_and_filter_blocks(True)  # otherwise they would take memory without limit
    table.set_format_version(ROCKSDB_FORMAT_VERSION)
    table.set_checksum_type(rocksdict.ChecksumType.xxhash())
    if config.rocksdb_bloom_bits:
        table.set_bloom_filter(config.rocksdb_bloom_bits, False)
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(table)
    compression = rocksdict.DBCompressionType
    options.set_compression_type(compression.lz4() if config.rocksdb_compression_enabled else compression.none())
    options.set_write_buffer_size(config.rocksdb_write_buffer_bytes)
    options.set_target_file_size_base(config.rocksdb_table_bytes)
    options.set_max_open_files(max(config.open_index_files_max // DATABASES_MAX, OPEN_TABLES_MIN))
    options.set_keep_log_file_num(5)
    options.set_max_log_file_size(4 << 20)
    return options


def _raising(read: Callable[[], _Result]) -> _Result:
    """Return the result of ``read``, whose errors are of no class of their own."""
    try:
        return read()
    except Exception as error:
        raise _os_error(error) from error


def _os_error(error: Exception, path: str = "") -> OSError:
    return OSError(_number_of(str(error)), f"RocksDB: {error}", path or None)


def _number_of(text: str) -> int:
    """Return the number of an error of which there is the text only: EIO where that says nothing else."""
    for number in TOLD_NUMBERS:
        if os.strerror(number) in text:
            return number
    lower = text.lower()
    if any(each in lower for each in NOT_OPEN_TEXTS):
        return NOT_OPEN
    # Not ENOENT, which is for who asks a file that is not there.
    return DAMAGED if lower.startswith("corruption") or os.strerror(errno.ENOENT) in text else errno.EIO


def _why_not(path: str, error: Exception, rocksdict: Any) -> str:
    """Tell why a database cannot be opened, and what to do."""
    if "lock" in str(error).lower():
        return f"the RocksDB in {path} is open in another process: stop the bookie that runs on it ({error})"
    written_by = _written_by(path)
    return (
        f"the RocksDB in {path} cannot be opened: {error}. {written_by}"
        "If a newer RocksDB has written it, start the bookie that wrote it once more, with "
        f"dbStorage_rocksDB_format_version={ROCKSDB_FORMAT_VERSION}, let it compact its entry locations (PUT "
        "/api/v1/bookie/entry_location_compact), and stop it in order; if it is damaged, rebuild it from the entry logs"
    )


def _written_by(path: str) -> str:
    """Return a sentence with the version of RocksDB that has opened the files of ``path`` last, empty if unknown."""
    with contextlib.suppress(OSError):
        names = [name for name in os.listdir(path) if re.fullmatch(r"OPTIONS-\d+", name)]
        for name in sorted(names, key=lambda name: int(name[len("OPTIONS-") :]), reverse=True):
            with open(os.path.join(path, name), encoding="utf-8", errors="replace") as file:
                version = re.search(r"^\s*rocksdb_version=(\S+)", file.read(), re.MULTILINE)
            if version:
                return f"RocksDB {version[1]} has opened it last. "
    return ""

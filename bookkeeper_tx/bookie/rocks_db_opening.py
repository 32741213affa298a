"""Opening a RocksDB database: for writing, or for reading only where nothing can be written."""

import contextlib
import errno
import os
import re
import tempfile
import time
from typing import Any, Final

from bookkeeper_tx.bookie.key_values import DAMAGED
from bookkeeper_tx.bookie.rocks_db_errors import number_of, os_error
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart
from protocol_specs.disk.db_index import ROCKSDB_FORMAT_VERSION

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

UNWRITABLE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""With these errors a database can be opened for reading only, which writes nothing."""

OPENING_BYTES: Final = 64 * 1024
"""What an opening for writing writes, besides a table file of what is in the log."""

AGAIN_S: Final = 30.0
"""After so long an opening for writing that has failed is tried again: it reads all of the log, in which nothing else
runs."""

SHARED_MEMORY: Final = "/dev/shm"
"""Has room for links when the disk with the temporary files is full as well."""


class RocksDbOpening:
    """Opens the database in a directory, again and again; raises errors of rocksdict, and OSError."""

    def __init__(self, path: str, config: BookieConfig) -> None:
        self.binding = _binding()
        self._path = path
        self._options = _options(self.binding, config)
        self._links: tempfile.TemporaryDirectory[str] | None = None
        self._links_path: str | None = None
        self._failed: OSError | None = None
        self._failed_s = 0.0

    def make_directory(self) -> None:
        """Make the directory, if there is none."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(self._path, DIRECTORY_MODE)

    def as_can_be(self) -> tuple[Any, bool]:
        """Open it for writing, or for reading only where the disk is full or takes no writes; give it, and which."""
        try:
            _raise_if_read_only(self._path)
            return self._for_writing(), True
        except Exception as error:
            if number_of(str(error)) not in UNWRITABLE or not has_database(self._path):
                raise
        return self.for_reading(), False

    def for_reading(self) -> Any:
        """Open it where nothing may be written, by links to its files: the binding writes beside them."""
        try:
            return self._linked(None)
        except Exception as error:
            if number_of(str(error)) not in UNWRITABLE or not os.path.isdir(SHARED_MEMORY):
                raise
        return self._linked(SHARED_MEMORY)

    def for_writing_now(self) -> Any:
        """Open it for writing while it is open for reading only; raises OSError, soon where there is no room for it."""
        if not has_database(self._path):  # the binding would make one, which has nothing of what is stored
            raise OSError(DAMAGED, "the database has vanished", self._path)
        _raise_if_read_only(self._path)
        logs = (each.stat().st_size for each in os.scandir(self._path) if each.name.endswith(".log"))
        needed = sum(logs) + OPENING_BYTES
        if free_bytes(self._path) < needed:
            raise OSError(errno.ENOSPC, f"an opening for writing needs {needed} bytes", self._path)
        if self._failed is not None and time.monotonic() < self._failed_s + AGAIN_S:
            raise self._failed
        try:
            opened = self._for_writing()
        except Exception as error:
            self._failed, self._failed_s = os_error(error, self._path), time.monotonic()
            raise self._failed from error
        self._failed = None
        return opened

    def end(self) -> None:
        """Remove what an opening for reading has made."""
        if self._links is not None:
            self._links.cleanup()
            self._links = None

    def told(self, error: Exception) -> str:
        """Return the text of an error, in which files have their own paths, not those of links to them."""
        return str(error) if self._links_path is None else str(error).replace(self._links_path, self._path)

    def why_not(self, error: Exception) -> str:
        """Tell why a database cannot be opened, and what to do."""
        if re.search("lock hold|lock file", str(error)):
            return f"the RocksDB in {self._path} is open in another process: stop the bookie that runs on it ({error})"
        cannot = f"the RocksDB in {self._path} cannot be opened: {self.told(error)}"
        if number_of(str(error)) in UNWRITABLE:
            return f"{cannot}: it needs room, and files that can be written"
        return (
            f"{cannot}. {_written_by(self._path)}"
            "If a newer RocksDB has written it, start the bookie that wrote it once more, with "
            f"dbStorage_rocksDB_format_version={ROCKSDB_FORMAT_VERSION}, let it compact its entry locations (PUT "
            "/api/v1/bookie/entry_location_compact), and stop it in order; if it is damaged, rebuild it from the entry "
            "logs"
        )

    def _for_writing(self) -> Any:
        # The options of the default column family are those of the files otherwise, if these can be read.
        return self.binding.Rdict(self._path, self._options, {"default": self._options})

    def _linked(self, parent: str | None) -> Any:
        links = _links(parent)
        self._links_path = links.name
        try:
            for name in os.listdir(self._path):
                if name not in WRITTEN_AT_OPEN:
                    os.symlink(os.path.join(os.path.abspath(self._path), name), os.path.join(links.name, name))
            access = self.binding.AccessType.read_only(False)
            opened = self.binding.Rdict(links.name, self._options, {"default": self._options}, access)
        except BaseException:
            links.cleanup()
            raise
        self._links = links
        return opened


def has_database(path: str) -> bool:
    """Whether a directory has a database: one that was emptied has none.  Raises OSError."""
    try:
        os.stat(os.path.join(path, CURRENT))
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _links(parent: str | None) -> "tempfile.TemporaryDirectory[str]":
    try:
        return tempfile.TemporaryDirectory(prefix="bktx-rocksdb-", dir=parent)
    except FileNotFoundError as error:  # none of the usual directories can be written
        raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)} ({error.strerror})") from error


def _raise_if_read_only(path: str) -> None:
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)


def free_bytes(path: str) -> int:
    disk = os.statvfs(path)
    return disk.f_bavail * disk.f_frsize


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
    # In blocks of 4 KiB: the filter of a whole table is larger than a part of the cache, and drives out all else in it.
    table.set_index_type(rocksdict.BlockBasedIndexType.two_level_index_search())
    table.set_partition_filters(True)
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

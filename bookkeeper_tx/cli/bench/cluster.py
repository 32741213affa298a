"""The cluster that is measured: one that runs already, or bookies of our own in other processes."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from attrs import define, field

from bookkeeper_tx.config import LEDGER_STORAGE_CLASSES, MIB
from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.testing.local_cluster import LocalCluster

ENTRY_OVERHEAD = 40
"""Bytes of an entry's record beside its payload: length, ids, last add confirmed, length so far, CRC32C."""

LOGS_PER_RUN = 3
"""A run fills so many entry logs.  It fills the write cache once, and that is flushed when it is half full: twice, or a
few times more where entries come one by one.  In a smaller one each ledger of many would have a handful of entries, and
no bookie would read them as those of a cache of common size are read."""

CACHE_BYTES_MIN = 256 * 1024
CACHE_BYTES_MAX = 64 * MIB
LOG_BYTES_MIN = MIB
LOG_BYTES_MAX = 1024 * MIB
JOURNAL_FILE_MIB = 128
COPIES_ON_DISK = 2
"""Entries lie in a journal and in an entry log."""


@define
class BenchCluster:
    """A cluster while it is measured; a context manager that starts and stops our own bookie."""

    directory: Path
    """Directory on the disk that is measured; our own bookie's data lie below it."""
    metadata_uri: str
    pids: Sequence[int] = ()
    """Processes of the bookies, as far as they are known."""
    settings: dict[str, Any] = field(factory=dict)
    """The settings of our own bookie, by Java's keys."""
    local: LocalCluster | None = None

    def __enter__(self) -> "BenchCluster":
        self.directory.mkdir(parents=True, exist_ok=True)
        if self.local is not None:
            self.local.start()
            self.pids = [bookie.pid for bookie in self.local.bookies if bookie.pid is not None]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.local is not None:
            self.local.stop()

    def last_marks(self) -> list[Path]:
        """Return the files that each flush of our own bookie replaces."""
        return self._found("lastMark")

    def entry_logs(self) -> int:
        """Return how many entry logs our own bookie has; each roll makes one more."""
        return len(self._found("*.log"))

    def _found(self, pattern: str) -> list[Path]:
        if self.local is None:
            return []
        return [path for bookie in self.local.bookies for path in bookie.directory.glob(f"data/current/{pattern}")]


def given_cluster(metadata_uri: str, pids: Sequence[int], directory: Path) -> BenchCluster:
    """Return a cluster that runs already."""
    return BenchCluster(directory, metadata_uri, pids)


def own_cluster(
    directory: Path,
    run_bytes: int,
    runs: int,
    bookies: int,
    writes: int = 1,
    storage_class: str = LEDGER_STORAGE_CLASSES[0],
) -> BenchCluster:
    """Return a cluster of our own for ``runs`` runs that store ``run_bytes`` on each bookie ``writes`` times.

    It is not started yet.

    Raises InvalidArgument when the disk is too small for that.
    """
    directory.mkdir(parents=True, exist_ok=True)
    needed = COPIES_ON_DISK * run_bytes * writes * (runs + 1) * bookies
    free = shutil.disk_usage(directory).free
    if needed > free:
        raise InvalidArgument(
            f"{runs} runs need {needed / 1e9:.1f} GB, {directory} has {free / 1e9:.1f} GB left: give --directory on a"
            " larger disk, fewer --entries or fewer --runs"
        )
    settings = {
        "skipListSizeLimit": max(CACHE_BYTES_MIN, min(run_bytes, CACHE_BYTES_MAX)),
        "logSizeLimit": max(LOG_BYTES_MIN, min(run_bytes // LOGS_PER_RUN, LOG_BYTES_MAX)),
        "journalMaxSizeMB": JOURNAL_FILE_MIB,
        "journalMaxBackups": 0,
        "ledgerStorageClass": storage_class,
    }
    local = LocalCluster(directory, bookies, settings=settings)
    return BenchCluster(directory, local.metadata_uri, settings=settings, local=local)

"""Metrics of the ledger storage: what it has written and read, its caches, its flushes, its disks."""

from collections.abc import Callable, Mapping
from typing import Final

from bookkeeper_tx.bookie.metrics.exposition import Exposition, name_of_path
from bookkeeper_tx.bookie.metrics.summary import Outcomes
from bookkeeper_tx.bookie.operations.dispatch import RequestCounts
from bookkeeper_tx.bookie.space import Space
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage

MILLISECONDS_PER_S: Final = 1000


class StorageMetrics:
    """Is told of each flush."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._flushes = Outcomes(seconds)

    def flushed(self, took_s: float, succeeded: bool) -> None:
        """Count a flush."""
        self._flushes.observe(took_s * MILLISECONDS_PER_S, succeeded)

    def write(
        self,
        out: Exposition,
        storage: LedgerStorage,
        counts: RequestCounts,
        written_bytes: int,
        batch_bytes: int,
        disks: Mapping[str, Space],
    ) -> None:
        """Write them."""
        reads, loads = counts.reads, storage.load_count
        used, most = storage.write_cache_bytes
        out.counter("bookie_WRITE_BYTES", written_bytes)
        out.counter("bookie_READ_BYTES", reads.size_bytes + batch_bytes)
        for name in ("bookie_{}", "bookie_storage_{}"):
            out.gauge(name.format("write_cache_size"), used)
            out.gauge(name.format("read_cache_size"), storage.read_cache_bytes)
            out.gauge(name.format("ledgers_count"), storage.ledger_count)
        out.gauge("bookie_write_cache_max_size", most)
        out.counter("bookie_read_cache_hits", max(reads.succeeded - loads, 0))
        out.counter("bookie_read_cache_misses", loads)
        out.summary("bookie_flush", self._flushes)
        out.counter("bookie_sync_thread_time", self._flushes.succeeded.sum + self._flushes.failed.sum)
        out.gauge("bookie_ledger_num_dirs", len(disks))
        out.gauge("bookie_ledger_writable_dirs", sum(not space.full for space in disks.values()))
        for directory, space in disks.items():
            out.gauge(f"bookie_ledger_dir_{name_of_path(directory)}_usage", 100 * space.used)

"""Metrics of the ledger storage: what it has written and read, its caches, its flushes, its disks."""

from collections.abc import Callable, Mapping
from typing import Final

from bookkeeper_tx.bookie.metrics.exposition import Exposition, name_of_path
from bookkeeper_tx.bookie.metrics.summary import Outcomes
from bookkeeper_tx.bookie.operations.dispatch import RequestCounts
from bookkeeper_tx.bookie.space import Space
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage

MILLISECONDS_PER_S: Final = 1000


class StorageMetrics:
    """Is told of each flush."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._flushes = Outcomes(seconds)
        self._hits = 0

    def flushed(self, took_s: float, succeeded: bool) -> None:
        """Count a flush."""
        self._flushes.observe(took_s * MILLISECONDS_PER_S, succeeded)

    def write(
        self,
        out: Exposition,
        storage: AnyStorage,
        counts: RequestCounts,
        written_bytes: int,
        batch_bytes: int,
        ledger_disks: Mapping[str, Space],
        index_disks: Mapping[str, Space],
    ) -> None:
        """Write them; ``index_disks`` is empty if the indexes are with the ledgers."""
        reads, loads = counts.reads, storage.load_count
        used, most = storage.write_cache_bytes
        entry_count = storage.entry_count
        out.counter("bookie_WRITE_BYTES", written_bytes)
        out.counter("bookie_READ_BYTES", reads.size_bytes + batch_bytes)
        for name in ("bookie_{}", "bookie_storage_{}"):
            out.gauge(name.format("write_cache_size"), used)
            out.gauge(name.format("read_cache_size"), storage.read_cache_bytes)
            out.gauge(name.format("ledgers_count"), storage.ledger_count)
            if entry_count is not None:
                out.gauge(name.format("entries_count"), entry_count)
        out.gauge("bookie_write_cache_max_size", most)
        # A load counts when it begins, and also if there is no such entry: no reason for a counter to fall.
        self._hits = max(self._hits, reads.succeeded + counts.batch_entries - loads)
        out.counter("bookie_read_cache_hits", self._hits)
        out.counter("bookie_read_cache_misses", loads)
        out.summary("bookie_flush", self._flushes)
        out.counter("bookie_sync_thread_time", self._flushes.succeeded.sum + self._flushes.failed.sum)
        for kind, disks in (("ledger", ledger_disks), ("index", index_disks)):
            if disks:
                out.gauge(f"bookie_{kind}_num_dirs", len(disks))
                out.gauge(f"bookie_{kind}_writable_dirs", sum(not space.full for space in disks.values()))
            for directory, space in disks.items():
                out.gauge(f"bookie_{kind}_dir_{name_of_path(directory)}_usage", 100 * space.used)

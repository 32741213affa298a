"""Metrics of the garbage collection, under both of Java's names: its two storages have one each."""

from collections.abc import Callable, Mapping
from typing import Final

from bookkeeper_tx.bookie.metrics.exposition import Exposition
from bookkeeper_tx.bookie.metrics.summary import Outcomes

MILLISECONDS_PER_S: Final = 1000

COUNTERS: Final = (
    "DELETED_LEDGER_TOTAL",
    "MAJOR_COMPACTION_TOTAL",
    "MINOR_COMPACTION_TOTAL",
    "ENTRY_LOCATION_COMPACTION_TOTAL",
    "RECLAIMED_COMPACTION_SPACE_BYTES",
    "RECLAIMED_DELETION_SPACE_BYTES",
    "RECLAIM_FAILED_TO_DELETE",
)
"""What has happened since the start."""

GAUGES: Final = (
    "ACTIVE_ENTRY_LOG_TOTAL",
    "ACTIVE_ENTRY_LOG_SPACE_BYTES",
    "ACTIVE_LEDGER_TOTAL",
    "ENTRY_LOG_SPACE_BYTES",
    "ENTRY_LOG_COMPACT_RATIO",
    *(f"entry_log_usage_buckets_le_{percent}" for percent in range(10, 101, 10)),
)
"""What the last collection has found; of the last ones the entry logs of which so much is used."""

RUNTIMES: Final = ("THREAD_RUNTIME", "EXTRACT_META_RUNTIME", "GC_LEDGER_RUNTIME", "COMPACT_RUNTIME")
"""What takes its time: a whole collection, reading what entry logs have, deleting ledgers, compacting."""

OLD_NAMES: Final = {
    "DELETED_LEDGER_TOTAL": "bookie_DELETED_LEDGER_COUNT",
    "MINOR_COMPACTION_TOTAL": "bookie_MINOR_COMPACTION_COUNT",
}
"""Names of older releases, which boards still have."""

Figures = Callable[[], Mapping[str, float]]


class GarbageMetrics:
    """Is told how long the parts of a collection took, and asks for the rest."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self.figures: Figures = dict
        """Gives the values of COUNTERS and GAUGES; those that are missing are 0."""
        self._runtimes = {name: Outcomes(seconds) for name in RUNTIMES}

    def took(self, name: str, took_s: float, succeeded: bool = True) -> None:
        """Count one of RUNTIMES."""
        self._runtimes[name].observe(took_s * MILLISECONDS_PER_S, succeeded)

    def write(self, out: Exposition) -> None:
        """Write them."""
        found = self.figures()
        for prefix in ("bookie_", "bookie_gc_"):
            for name in COUNTERS:
                out.counter(prefix + name, found.get(name, 0))
            for name in GAUGES:
                out.gauge(prefix + name, found.get(name, 0))
            for name, outcomes in self._runtimes.items():
                out.summary(prefix + name, outcomes)
        for name, old_name in OLD_NAMES.items():
            out.counter(old_name, found.get(name, 0))

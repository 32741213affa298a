"""Metrics of the garbage collection, under both of Java's names: its two storages have one each."""

from collections import Counter
from typing import Final

from bookkeeper_tx.bookie.metrics.exposition import Exposition

COUNTERS: Final = {
    "DELETED_LEDGER_TOTAL": "deleted_ledger_count",
    "MAJOR_COMPACTION_TOTAL": "major_count",
    "MINOR_COMPACTION_TOTAL": "minor_count",
    "RECLAIMED_COMPACTION_SPACE_BYTES": "reclaimed_compaction_bytes",
    "RECLAIMED_DELETION_SPACE_BYTES": "reclaimed_deletion_bytes",
    "RECLAIM_FAILED_TO_DELETE": "failed_log_count",
}
"""What has happened since the start: Java's name, and the attribute of the status that has it."""

GAUGES: Final = {
    "ACTIVE_LEDGER_TOTAL": "ledger_count",
    "ACTIVE_ENTRY_LOG_TOTAL": "log_count",
    "ENTRY_LOG_SPACE_BYTES": "log_bytes",
    "ACTIVE_ENTRY_LOG_SPACE_BYTES": "remaining_bytes",
}
"""What the last collection has left."""

USAGES: Final = {tenth: f"entry_log_usage_buckets_le_{10 * tenth + 10}" for tenth in range(10)}
"""Names of how many logs have this usage; what is in one of them is not in the others, whatever Java's names say."""

PREFIXES: Final = ("bookie_", "bookie_gc_")

OLD_NAMES: Final = {
    "DELETED_LEDGER_TOTAL": "bookie_DELETED_LEDGER_COUNT",
    "MINOR_COMPACTION_TOTAL": "bookie_MINOR_COMPACTION_COUNT",
}
"""Names of older releases, which boards still have."""


def write_garbage(out: Exposition, status: object) -> None:
    """Write what ``status`` has, and 0 for what it has not: with None that is everything."""
    usages = Counter(getattr(status, "log_usages", ()))
    found, compacted = (getattr(status, f"compaction_{each}_count", 0) for each in ("found", "done"))
    for prefix in PREFIXES:
        for name, attribute in COUNTERS.items():
            out.counter(prefix + name, getattr(status, attribute, 0))
        for name, attribute in GAUGES.items():
            out.gauge(prefix + name, getattr(status, attribute, 0))
        for tenth, name in USAGES.items():
            out.gauge(prefix + name, usages[tenth])
        out.gauge(prefix + "ENTRY_LOG_COMPACT_RATIO", compacted / found if found else 0)
    for name, old_name in OLD_NAMES.items():
        out.counter(old_name, getattr(status, COUNTERS[name], 0))

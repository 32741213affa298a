"""What a garbage collector has done, and does."""

from attrs import define


@define
class GarbageStatus:
    """The state of one collector; times are in seconds since 1970, counts since the bookie's start."""

    running: bool = False
    """Whether a collection is under way."""
    forced: bool = False
    """Whether somebody has asked for it, or for the one that comes after it."""
    minor_running: bool = False
    """Whether a minor compaction is under way."""
    major_running: bool = False
    """Whether a major compaction is under way."""
    minor_suspended: bool = False
    """Whether minor compactions wait until they are resumed."""
    major_suspended: bool = False
    """Whether major compactions wait until they are resumed."""
    last_begun_s: float | None = None
    """When the last collection began."""
    last_ended_s: float | None = None
    """When it ended, with or without an error."""
    last_duration_s: float | None = None
    """How long it took."""
    last_minor_s: float | None = None
    """When the last minor compaction ended."""
    last_major_s: float | None = None
    """When the last major compaction ended."""
    last_error: str = ""
    """Why the last collection did not come to its end; empty if it did."""
    collection_count: int = 0
    """Collections that have ended."""
    minor_count: int = 0
    """Minor compactions that have ended."""
    major_count: int = 0
    """Major compactions that have ended."""
    deleted_ledger_count: int = 0
    """Ledgers that were deleted, of all kinds."""
    overreplicated_ledger_count: int = 0
    """Those of them that are elsewhere."""
    deleted_log_count: int = 0
    """Entry logs that were removed, compacted ones included."""
    failed_log_count: int = 0
    """Entry logs that could not be removed, or compacted."""
    reclaimed_deletion_bytes: int = 0
    """Bytes of logs without ledgers."""
    reclaimed_compaction_bytes: int = 0
    """Bytes of compacted logs, without those that were copied."""
    moved_entry_count: int = 0
    """Entries that compactions have copied."""
    ledger_count: int = 0
    """Ledgers here, at the last collection."""
    log_count: int = 0
    """Entry logs that are not written any more, at the last collection."""
    log_bytes: int = 0
    """Their bytes."""
    remaining_bytes: int = 0
    """Bytes in them of entries whose ledgers are still there."""
    log_usages: tuple[int, ...] = ()
    """The usage of each of them, before a compaction, in whole tenths: 9 is the highest."""
    compaction_found_count: int = 0
    """Entry logs that there were at the last compaction."""
    compaction_done_count: int = 0
    """Those of them that it has compacted."""
    unindexed_logs: tuple[str, ...] = ()
    """The logs that stay because ledgers in them have no index here, and are not known to be deleted."""
    unreadable_logs: tuple[str, ...] = ()
    """The logs that stay because nobody knows what is in them."""

"""The location of an entry: entry log and offset in one number, as indexes store it (docs/formats/ledger-index.md)."""

from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE
from protocol_specs.disk import entry_log as spec


def location(log_id: int, record_offset: int) -> int:
    """Return the location of the entry whose length word is at ``record_offset`` of a log."""
    return (log_id << spec.LOCATION_LOG_ID_SHIFT) + record_offset + RECORD_LENGTH_SIZE


def split_location(entry_location: int) -> tuple[int, int]:
    """Return the log id of a location, and the offset of the entry's length word."""
    log_id = entry_location >> spec.LOCATION_LOG_ID_SHIFT
    return log_id, (entry_location & spec.LOCATION_OFFSET_MASK) - RECORD_LENGTH_SIZE

"""The list of the ledgers of a log, as a value: what is added at its end, cut off at its start, and moved into chunks.

The list may get long, and whoever opens the log reads it.  So the record that is changed holds its newest part only.
Whenever that is full, its older half moves into a chunk: a record that never changes, named by its number, which holds
the ledgers ``number * CHUNK_COUNT`` and following.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import evolve, field, frozen

from bookkeeper_tx.errors import InvalidArgument, MetadataCorrupt
from bookkeeper_tx.replicated_log.json_record import packed, unpacked

CHUNK_COUNT = 128
"""Ledgers of a chunk; the record of the newest part has at most twice as many."""


@frozen
class LogSegment:
    """One ledger of a log."""

    log_segment_sequence_no: int
    """Its place in the log, from 0 on, of all ledgers that the log ever had."""
    ledger_id: int
    ctime_ms: int
    """When it was added, in milliseconds since 1970; never before the one in front of it."""


def _segments_of(values: Iterable[LogSegment]) -> tuple[LogSegment, ...]:
    return tuple(values)


@frozen
class SegmentList:
    """The newest ledgers of a log, and where the log starts."""

    segments: tuple[LogSegment, ...] = field(default=(), converter=_segments_of)
    """The newest, without a gap; the first of them starts a chunk."""
    first_sequence_no: int = 0
    """The first ledger that was not truncated."""
    deleted_end: int = 0
    """The first ledger that may not be deleted yet: a truncation that was interrupted goes on from here."""
    deleting: bool = False
    """Whether the whole log is being deleted: nothing is added any more."""
    next_sequence_no: int = 0
    """The number of the ledger that is added next."""

    @property
    def chunked_end(self) -> int:
        """The first ledger that is not in a chunk."""
        return self.next_sequence_no - len(self.segments)

    @property
    def last(self) -> LogSegment | None:
        """The ledger that was added last, None before the first."""
        return self.segments[-1] if self.segments else None

    @property
    def last_two(self) -> tuple[LogSegment, ...]:
        """Those that a new writer fences: the writer may be writing the one before the last while it adds the last."""
        return tuple(each for each in self.segments[-2:] if each.log_segment_sequence_no >= self.first_sequence_no)

    def holds(self, ledger_id: int) -> bool:
        """Whether a ledger is one of the newest."""
        return any(each.ledger_id == ledger_id for each in self.segments)

    def with_ledger(self, ledger_id: int, now_ms: int) -> "SegmentList":
        """Return the list with a ledger at its end; the older half goes if it is full, see :meth:`full_chunk`."""
        last = self.last
        ctime_ms = now_ms if last is None else max(now_ms, last.ctime_ms)
        added = LogSegment(self.next_sequence_no, ledger_id, ctime_ms)
        kept = self.segments[len(self.full_chunk) :]
        return evolve(self, segments=(*kept, added), next_sequence_no=self.next_sequence_no + 1)

    @property
    def full_chunk(self) -> tuple[LogSegment, ...]:
        """What makes room for the next ledger; mostly nothing."""
        return self.segments[:CHUNK_COUNT] if len(self.segments) >= 2 * CHUNK_COUNT else ()

    @property
    def chunk_to_store(self) -> tuple[LogSegment, ...]:
        """What must be stored as a chunk before the next ledger is added: nothing of which no ledger is left."""
        full = self.full_chunk
        return full if full and full[-1].log_segment_sequence_no >= self.deleted_end else ()

    def truncated(self, first_sequence_no: int) -> "SegmentList":
        """Return the list of a log that starts at this ledger; it never starts earlier than before."""
        return evolve(self, first_sequence_no=max(self.first_sequence_no, first_sequence_no))


def chunk_of(sequence_no: int) -> int:
    """Return the number of the chunk that has a ledger, once it is in one."""
    return sequence_no // CHUNK_COUNT


def at_time(segments: Sequence[LogSegment], time_ms: int) -> LogSegment | None:
    """Return the ledger that was written at a time, None if that is before all of ``segments``."""
    index = bisect_right(segments, time_ms, key=lambda segment: segment.ctime_ms)
    return segments[index - 1] if index else None


# Stored form ---------------------------------------------------------------------------------------------------------


def serialize(segments: SegmentList) -> bytes:
    """Return the record of the newest part of a list."""
    return packed(
        {
            "next": segments.next_sequence_no,
            "first": segments.first_sequence_no,
            "deleted": segments.deleted_end,
            "deleting": segments.deleting,
            "segments": _rows(segments.segments),
        }
    )


def parse(record: bytes, log: str) -> SegmentList:
    """Return the list in a record of ``log``; raises MetadataCorrupt."""
    try:
        parts = unpacked(record)
        end = int(parts["next"])
        segments = _segments(parts["segments"], end - len(parts["segments"]))
        found = SegmentList(segments, int(parts["first"]), int(parts["deleted"]), bool(parts["deleting"]), end)
        if not 0 <= found.deleted_end <= found.first_sequence_no <= end or found.chunked_end % CHUNK_COUNT:
            raise ValueError("its numbers contradict each other")
    except (ValueError, TypeError, KeyError) as error:
        raise _corrupt(log, error) from error
    return found


def serialize_chunk(segments: Iterable[LogSegment]) -> bytes:
    """Return the record of a full chunk."""
    return packed({"segments": _rows(segments)})


def parse_chunk(record: bytes, number: int, log: str) -> tuple[LogSegment, ...]:
    """Return the ledgers in the record of chunk ``number``; raises MetadataCorrupt."""
    try:
        found = _segments(unpacked(record)["segments"], number * CHUNK_COUNT)
        if len(found) != CHUNK_COUNT:
            raise ValueError(f"chunk {number} has {len(found)} ledgers, not {CHUNK_COUNT}")
    except (ValueError, TypeError, KeyError) as error:
        raise _corrupt(log, error) from error
    return found


def require_name(name: str) -> str:
    """Return ``name`` if a log may have it; raises InvalidArgument."""
    if not isinstance(name, str) or not 0 < len(name) <= NAME_LENGTH_MAX or not name.isprintable():
        raise InvalidArgument(f"{name!r} is no name of a log: it must be printable text of 1 to {NAME_LENGTH_MAX}")
    return name


NAME_LENGTH_MAX = 255
"""Characters of the name of a log."""


def _rows(segments: Iterable[LogSegment]) -> list[list[int]]:
    return [[each.ledger_id, each.ctime_ms] for each in segments]


def _segments(rows: Iterable[Any], first_sequence_no: int) -> tuple[LogSegment, ...]:
    return tuple(
        LogSegment(sequence_no, int(ledger_id), int(ctime_ms))
        for sequence_no, (ledger_id, ctime_ms) in enumerate(rows, first_sequence_no)
    )


def _corrupt(log: str, error: Exception) -> MetadataCorrupt:
    return MetadataCorrupt(f"the list of ledgers of log {log} cannot be understood: {error!r}")

"""The records of one log in the metadata store: its properties, the newest part of its list, and the chunks."""

from collections.abc import Awaitable
from contextlib import suppress
from typing import Protocol

from attrs import evolve, frozen

from bookkeeper_tx.errors import AlreadyTruncated, MetadataConflict, MetadataCorrupt, NoSuchLog
from bookkeeper_tx.replicated_log.dlsn import DLSN
from bookkeeper_tx.replicated_log.log_properties import LogProperties, LogStage
from bookkeeper_tx.replicated_log.segment_list import (
    LogSegment,
    SegmentList,
    at_time,
    chunk_of,
    parse,
    parse_chunk,
    serialize,
    serialize_chunk,
)

LOGS = "logs"
"""Below it is a record for each log, of its properties, by its name.

It is never deleted, so that its version only grows: whoever sleeps while others delete the log, and make another of its
name, finds another version, and changes nothing.
"""

LISTS = "log-lists"
"""Below it, the name and the incarnation of a log are its list, as LIST, and its chunks, by their numbers."""

LIST = "list"

NOTE = "made"
"""Beside them is a note of each ledger that is being made for the log: ``made-PLACE-LEDGER``."""


class RecordStore(Protocol):
    """What a log needs of a metadata store."""

    def read_record(self, path: tuple[str, ...]) -> Awaitable[tuple[bytes, int] | None]: ...

    def write_record(self, path: tuple[str, ...], data: bytes, version: int | None) -> Awaitable[int]: ...

    def delete_record(self, path: tuple[str, ...], version: int) -> Awaitable[None]: ...

    def list_records(self, path: tuple[str, ...]) -> Awaitable[list[str]]: ...


@frozen
class VersionedList:
    """A list together with the version to compare when it is set."""

    segments: SegmentList
    version: int


class LogMetadata:
    """The records of one log."""

    def __init__(self, store: RecordStore, name: str, properties: LogProperties) -> None:
        self._store = store
        self.name = name
        self.properties = properties

    @classmethod
    async def find(cls, store: RecordStore, name: str) -> "LogMetadata":
        """Read the properties of a log; raises NoSuchLog."""
        properties = await _properties(store, name)
        if properties is None:
            raise NoSuchLog(f"there is no log {name}")
        return cls(store, name, properties)

    @staticmethod
    async def names(store: RecordStore) -> list[str]:
        """Return the names of all logs, sorted; also of those whose properties cannot be understood."""
        return [name for name in await store.list_records((LOGS,)) if await _is_log(store, name)]

    async def create(self) -> None:
        """Make the log, empty; raises MetadataConflict if there is one.

        The list comes first: what is left of a log that was made half has no name, and disturbs nobody.
        """
        await self._store.write_record(self._path(LIST), serialize(SegmentList()), None)
        try:
            await self._store.write_record(self._name, self.properties.serialize(), await self._free_version())
        except (MetadataConflict, MetadataCorrupt):
            await self._store.delete_record(self._path(LIST), 0)
            raise

    async def read(self) -> VersionedList:
        """Read the newest part of the list; raises NoSuchLog, also for a log that is being deleted."""
        found = await self.look()
        if found is None or found.segments.deleting:
            raise NoSuchLog(f"there is no log {self.name} any more: it was deleted")
        return found

    async def look(self) -> VersionedList | None:
        """Read the newest part of the list, also of a log that is being deleted; None if it is gone."""
        found = await self._store.read_record(self._path(LIST))
        return None if found is None else VersionedList(parse(found[0], self.name), found[1])

    async def write(self, segments: SegmentList, version: int) -> None:
        """Write the newest part of the list back by compare-and-set; raises MetadataConflict."""
        await self._store.write_record(self._path(LIST), serialize(segments), version)

    async def store_chunk(self, segments: tuple[LogSegment, ...]) -> None:
        """Store a full chunk, unless somebody has done so: whoever does has the same ledgers for it."""
        if segments:
            number = chunk_of(segments[0].log_segment_sequence_no)
            try:
                await self._store.write_record(self._path(str(number)), serialize_chunk(segments), None)
            except MetadataConflict:
                pass

    async def read_chunk(self, number: int) -> tuple[LogSegment, ...] | None:
        """Read a chunk; None if there is none, as of ledgers that were deleted."""
        found = await self._store.read_record(self._path(str(number)))
        return None if found is None else parse_chunk(found[0], number, self.name)

    async def delete_chunk(self, number: int) -> None:
        """Delete a chunk, if there is one."""
        await self._delete(self._path(str(number)))

    async def note(self, segment: LogSegment) -> None:
        """Note that a ledger is being made for a place in the list."""
        await self._store.write_record(self._note(segment), serialize_chunk([segment]), None)

    async def noted(self) -> list[LogSegment]:
        """Return the ledgers that are noted."""
        names = [name.split("-") for name in await self._store.list_records(self._path(LIST)[:-1])]
        return [LogSegment(int(name[1]), int(name[2]), 0) for name in names if name[0] == NOTE]

    async def forget(self, segment: LogSegment) -> None:
        """Delete the note of a ledger, if there is one."""
        await self._delete(self._note(segment))

    async def begin_delete(self) -> SegmentList | None:
        """Mark the log as one that is being deleted, so that no writer adds a ledger; return its list, if any."""
        segments = await self._mark_list()
        await self._go_to(LogStage.DELETING, LogStage.IN_USE)
        return segments

    async def end_delete(self) -> None:
        """Delete the list of the log and all its chunks, and last of all give its name free."""
        for part in await self._store.list_records(self._path(LIST)[:-1]):
            await self._delete(self._path(part))
        await self._go_to(LogStage.DELETED, LogStage.DELETING)

    async def _mark_list(self) -> SegmentList | None:
        while (found := await self.look()) is not None:
            if found.segments.deleting:
                return found.segments
            end = found.segments.next_sequence_no
            whole = evolve(found.segments, first_sequence_no=end, deleting=True)
            try:
                await self.write(whole, found.version)
                return whole
            except MetadataConflict:
                continue
        return None

    async def segment(self, segments: SegmentList, sequence_no: int) -> LogSegment | None:
        """Return the ledger of this number, None for one that comes later; raises AlreadyTruncated."""
        if sequence_no < segments.first_sequence_no:
            raise self.truncated(DLSN(sequence_no, 0), segments)
        if sequence_no >= segments.next_sequence_no:
            return None
        start = segments.chunked_end
        if sequence_no >= start:
            return segments.segments[sequence_no - start]
        chunk = await self.read_chunk(chunk_of(sequence_no))
        if chunk is None:
            now = (await self.read()).segments
            if sequence_no < now.first_sequence_no:
                raise self.truncated(DLSN(sequence_no, 0), now)
            raise MetadataCorrupt(f"log {self.name} lacks the part of its list that has ledger {sequence_no}")
        return chunk[sequence_no - chunk[0].log_segment_sequence_no]

    async def at_time(self, segments: SegmentList, time_ms: int) -> int:
        """Return the number of the first ledger that may have been written at a time or later.

        It is the one before the ledger that was the newest then, because a writer adds a ledger while it writes on in
        the one before; or the first of the log.
        """
        first = segments.first_sequence_no
        found = at_time(segments.segments, time_ms)
        if found is None:
            # The last chunk that begins no later has it.  A chunk that is gone was before the start of the log.
            low, high = chunk_of(first), chunk_of(segments.chunked_end)
            begins_no_later: tuple[LogSegment, ...] = ()
            while low < high:
                middle = (low + high) // 2
                chunk = await self.read_chunk(middle) or ()
                if chunk and chunk[0].ctime_ms > time_ms:
                    high = middle
                else:
                    begins_no_later, low = chunk, middle + 1
            found = at_time(begins_no_later, time_ms)
        return first if found is None else max(first, found.log_segment_sequence_no - 1)

    def truncated(self, position: DLSN, segments: SegmentList) -> AlreadyTruncated:
        """Return the error for a position before the start of the log."""
        return AlreadyTruncated(
            f"position {position} of log {self.name} was truncated: the log starts at {segments.first_sequence_no}:0"
        )

    async def _free_version(self) -> int | None:
        """Return the version to compare when the name is taken; raises MetadataConflict if it is not free."""
        found = await self._store.read_record(self._name)
        if found is None:
            return None
        if LogProperties.parse(found[0], self.name).stage is not LogStage.DELETED:
            raise MetadataConflict(f"there is a log {self.name}")
        return found[1]

    async def _go_to(self, stage: LogStage, before: LogStage) -> None:
        """Write this stage down, unless the name is in another one by now, or of another log."""
        found = await self._store.read_record(self._name)
        if found is not None and found[0] == evolve(self.properties, stage=before).serialize():
            with suppress(MetadataConflict):  # somebody else has done it
                await self._store.write_record(self._name, evolve(self.properties, stage=stage).serialize(), found[1])

    async def _delete(self, path: tuple[str, ...]) -> None:
        while (found := await self._store.read_record(path)) is not None:
            try:
                await self._store.delete_record(path, found[1])
                return
            except MetadataConflict:
                continue

    @property
    def _name(self) -> tuple[str, ...]:
        return (LOGS, self.name)

    def _note(self, segment: LogSegment) -> tuple[str, ...]:
        return self._path(f"{NOTE}-{segment.log_segment_sequence_no}-{segment.ledger_id}")

    def _path(self, part: str) -> tuple[str, ...]:
        return (LISTS, self.name, self.properties.incarnation, part)


async def _properties(store: RecordStore, name: str) -> LogProperties | None:
    """Return the properties of a log, None if there is none of this name."""
    found = await store.read_record((LOGS, name))
    properties = None if found is None else LogProperties.parse(found[0], name)
    return None if properties is None or properties.stage is LogStage.DELETED else properties


async def _is_log(store: RecordStore, name: str) -> bool:
    try:
        return await _properties(store, name) is not None
    except MetadataCorrupt:
        return True  # whoever looks at it is told

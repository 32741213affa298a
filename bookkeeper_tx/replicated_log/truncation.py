"""Truncating a log, and deleting it: its ledgers are deleted as a whole, the oldest first.

The list says first that they are gone; if whoever deletes them stops half way, the next who truncates goes on there.
"""

from collections.abc import Callable

from attrs import evolve

from bookkeeper_tx.client.core import AnyClient
from bookkeeper_tx.errors import InvalidArgument, MetadataConflict, MetadataCorrupt, NoSuchLedger
from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.replicated_log.leftover import delete_leftovers
from bookkeeper_tx.replicated_log.log_metadata import LogMetadata
from bookkeeper_tx.replicated_log.segment_list import CHUNK_COUNT, LogSegment, SegmentList, chunk_of

Deleted = Callable[[], object]
"""Called after each ledger that was deleted."""


REMEDY = "mend that record or delete that ledger, then delete the log again"
"""What to do about the record of a ledger that cannot be understood."""


async def truncate(client: AnyClient, metadata: LogMetadata, sequence_no: int, deleted: Deleted) -> int:
    """Delete all ledgers before this one, as far as they are closed; return the number of the first that is left.

    Raises InvalidArgument for a ledger that the log does not have yet.
    """
    while True:
        found = await metadata.read()
        if sequence_no >= max(found.segments.next_sequence_no, 1):
            raise InvalidArgument(
                f"log {metadata.name} has no ledger {sequence_no} yet: it can be truncated up to the ledger "
                f"{max(found.segments.next_sequence_no - 1, 0)}, which stays"
            )
        end = await _closed_end(client, found.segments, sequence_no)
        shorter = found.segments.truncated(end)
        try:
            if shorter != found.segments:
                await metadata.write(shorter, found.version)
            break
        except MetadataConflict:
            continue
    await _delete_ledgers(client, metadata, shorter, shorter.first_sequence_no, deleted)
    await _note_deleted(metadata, shorter.first_sequence_no)
    return shorter.first_sequence_no


async def delete(client: AnyClient, metadata: LogMetadata, password: bytes, deleted: Deleted) -> None:
    """Fence the last two ledgers of a log, and delete all, and the log.

    They are fenced before anything is marked, so that a wrong password, or bookies that are away, change nothing; and
    again afterwards, because a writer may have added one until then.

    Raises MetadataCorrupt for a ledger whose record cannot be understood, if that is one of the last two, or may be a
    leftover; in the second case it is all that is left.  This may be called again, as after every error.
    """
    found = await metadata.look()
    if found is not None:
        await _fence(client, metadata.name, found.segments, password)
    segments = await metadata.begin_delete()
    if segments is not None:
        await _fence(client, metadata.name, segments, password)
        await _delete_ledgers(client, metadata, segments, segments.next_sequence_no, deleted)
        await _delete_leftovers(client, metadata, segments)
    await metadata.end_delete()


async def _fence(client: AnyClient, log: str, segments: SegmentList, password: bytes) -> None:
    for segment in segments.segments[-2:]:
        try:
            (await client.open_ledger(segment.ledger_id, password)).close()
        except NoSuchLedger:
            continue
        except MetadataCorrupt as error:
            name = ledger_name(segment.ledger_id)
            text = f"log {log} is not deleted: its ledger {name} cannot be fenced ({error})"
            raise MetadataCorrupt(f"{text}; {REMEDY}") from error


async def _delete_leftovers(client: AnyClient, metadata: LogMetadata, segments: SegmentList) -> None:
    try:
        await delete_leftovers(client, metadata, segments)
    except MetadataCorrupt as error:
        text = f"log {metadata.name} is deleted but for what may not be its own: {error}"
        raise MetadataCorrupt(f"{text}; {REMEDY}") from error


async def _closed_end(client: AnyClient, segments: SegmentList, end: int) -> int:
    """Return up to where ledgers may be deleted: the writer may still be writing the one before the last."""
    if end == segments.next_sequence_no - 1 and end > segments.first_sequence_no:
        try:
            before_last = await client.ledger_metadata(segments.segments[-2].ledger_id)
        except NoSuchLedger:
            return end
        if not before_last.closed:
            return end - 1
    return end


async def _delete_ledgers(
    client: AnyClient, metadata: LogMetadata, segments: SegmentList, end: int, deleted: Deleted
) -> None:
    """Delete the ledgers of a list before ``end``, and the chunks that then name none that is left."""
    for number in range(chunk_of(segments.deleted_end), chunk_of(min(end, segments.chunked_end) - 1) + 1):
        await _delete_each(client, await metadata.read_chunk(number) or (), segments.deleted_end, end, deleted)
        if (number + 1) * CHUNK_COUNT <= end:
            await metadata.delete_chunk(number)
    await _delete_each(client, segments.segments, segments.deleted_end, end, deleted)


async def _delete_each(
    client: AnyClient, segments: tuple[LogSegment, ...], first: int, end: int, deleted: Deleted
) -> None:
    for segment in segments:
        if first <= segment.log_segment_sequence_no < end:
            try:
                await client.delete_ledger(segment.ledger_id)
            except NoSuchLedger:
                pass  # whoever began with this has deleted it
            deleted()


async def _note_deleted(metadata: LogMetadata, deleted_end: int) -> None:
    while True:
        found = await metadata.read()
        if found.segments.deleted_end >= deleted_end:
            return
        try:
            await metadata.write(evolve(found.segments, deleted_end=deleted_end), found.version)
            return
        except MetadataConflict:
            continue

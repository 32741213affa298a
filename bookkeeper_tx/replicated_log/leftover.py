"""Ledgers that were made for a log and never came into its list: found by their notes, and deleted.

A writer notes each ledger before it makes it, and for which place in the list.  Once that place has another ledger, or
is truncated, or the log is being deleted, no list can have this one any more: it is a leftover of a writer that died.
"""

from contextlib import suppress

from bookkeeper_tx.client.core import AnyClient
from bookkeeper_tx.errors import AlreadyTruncated, MetadataCorrupt, NoSuchLedger
from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.replicated_log.log_metadata import LogMetadata
from bookkeeper_tx.replicated_log.segment_list import LogSegment, SegmentList

LOG_NAME = "log"
"""Key of the custom metadata of a log's ledgers: the name of the log."""


async def delete_leftovers(client: AnyClient, metadata: LogMetadata, segments: SegmentList) -> None:
    """Delete the leftovers of a log, whose list is ``segments`` or a later one, and the notes that are done with.

    Raises MetadataCorrupt in the end if there are ledgers of which nobody can tell whether they are leftovers: they are
    left as they are, with their notes.
    """
    unknown: dict[int, MetadataCorrupt] = {}
    for noted in await metadata.noted():
        try:
            await _delete_leftover(client, metadata, segments, noted)
        except MetadataCorrupt as error:
            unknown[noted.ledger_id] = error
    if unknown:
        names, first = ", ".join(map(ledger_name, unknown)), next(iter(unknown.values()))
        text = f"ledger {names} may have been made for log {metadata.name} or by somebody else, and stays: {first}"
        raise MetadataCorrupt(text) from first


async def is_listed(metadata: LogMetadata, segments: SegmentList, noted: LogSegment) -> bool | None:
    """Return whether the list has a ledger in the place that it was made for; None while nothing is there yet."""
    try:
        segment = await metadata.segment(segments, noted.log_segment_sequence_no)
    except AlreadyTruncated:
        return False
    return None if segment is None else segment.ledger_id == noted.ledger_id


async def _delete_leftover(client: AnyClient, metadata: LogMetadata, segments: SegmentList, noted: LogSegment) -> None:
    listed = await is_listed(metadata, segments, noted)
    if listed is None and not segments.deleting:
        return  # its writer may be about to add it
    if not listed:
        await _delete(client, metadata.name, noted.ledger_id)
    await metadata.forget(noted)


async def _delete(client: AnyClient, log: str, ledger_id: int) -> None:
    with suppress(NoSuchLedger):
        custom = (await client.ledger_metadata(ledger_id)).custom_metadata
        if custom.get(LOG_NAME) == log.encode():  # or somebody else has taken this id before the writer did
            await client.delete_ledger(ledger_id)

"""Reading a log across its ledgers, and following it as it grows."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import TypeVar

from bookkeeper_tx.client.core import AnyClient
from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.tailing import AGAIN_S, TAIL_WAIT_S
from bookkeeper_tx.driver import pause
from bookkeeper_tx.errors import BookieUnavailable, MetadataUnavailable, NoSuchLedger, RequestTimedOut, TooManyRequests
from bookkeeper_tx.model import Entry
from bookkeeper_tx.replicated_log.dlsn import DLSN, LogRecord
from bookkeeper_tx.replicated_log.log_metadata import LogMetadata
from bookkeeper_tx.replicated_log.segment_list import LogSegment, SegmentList

LOOK_FIRST_S = 0.05
"""When a reader at the end of the last ledger looks again for another, at first; each time twice as late."""

LOOK_INTERVAL_S = 1.0
"""How often it looks in the end."""

MAY_ANSWER_LATER = (MetadataUnavailable, BookieUnavailable, RequestTimedOut, TooManyRequests)
"""Errors of the store and of bookies that may answer later."""

T = TypeVar("T")


async def read_log(
    client: AnyClient, name: str, password: bytes, start: DLSN | None, follow: bool
) -> AsyncGenerator[LogRecord, None]:
    """Iterate over the records from ``start`` on (None: from the first), and go on with those to come to ``follow``."""
    metadata = await LogMetadata.find(client.metadata, name)
    segments = (await metadata.read()).segments
    insist = _patiently if follow else _once
    position = DLSN(segments.first_sequence_no, 0) if start is None else start
    look_s = LOOK_FIRST_S
    while True:
        segment = await insist(client, partial(metadata.segment, segments, position.log_segment_sequence_no))
        if segment is None:
            if not follow:
                return
            await pause(client.driver, look_s)
            look_s = min(2 * look_s, LOOK_INTERVAL_S)
            segments = (await insist(client, metadata.read)).segments
            continue
        look_s = LOOK_FIRST_S
        reader = await insist(client, partial(_open, client, metadata, segment, password))
        try:
            async with aclosing(_entries(reader, position.entry_id, follow)) as entries:
                async for entry in entries:
                    yield LogRecord(DLSN(segment.log_segment_sequence_no, entry.entry_id), entry.payload)
        except NoSuchLedger:
            await insist(client, partial(_raise_if_truncated, metadata, segment))
            raise
        finally:
            reader.close()
        if not reader.closed:
            return  # without following: what comes after the last that is confirmed is not known yet
        position = DLSN(segment.log_segment_sequence_no + 1, 0)


async def last_dlsn(client: AnyClient, metadata: LogMetadata, password: bytes) -> DLSN | None:
    """Return the position of the last record that is confirmed, None if there is none."""
    segments: SegmentList = (await metadata.read()).segments
    for sequence_no in range(segments.next_sequence_no - 1, segments.first_sequence_no - 1, -1):
        segment = await metadata.segment(segments, sequence_no)
        assert segment is not None
        reader = await _open(client, metadata, segment, password)
        reader.close()
        if reader.last_add_confirmed >= 0:
            return DLSN(sequence_no, reader.last_add_confirmed)
    return None


async def _once(_: AnyClient, work: Callable[[], Awaitable[T]]) -> T:
    return await work()


async def _patiently(client: AnyClient, work: Callable[[], Awaitable[T]]) -> T:
    """Do what a follower does again while the store or the bookies do not answer, as long as a tail waits for them."""
    patient_until_s = client.driver.clock.seconds() + TAIL_WAIT_S
    while True:
        try:
            return await work()
        except MAY_ANSWER_LATER:
            if client.driver.clock.seconds() >= patient_until_s:
                raise
            await pause(client.driver, AGAIN_S)


async def _open(client: AnyClient, metadata: LogMetadata, segment: LogSegment, password: bytes) -> LedgerReader:
    try:
        reader: LedgerReader = await client.open_ledger_no_recovery(segment.ledger_id, password)
    except NoSuchLedger:
        await _raise_if_truncated(metadata, segment)
        raise
    if not reader.closed:
        try:
            # A writer that pauses may have published more than its entries say.
            await reader.read_last_add_confirmed(explicit=True)
        except BaseException:
            reader.close()
            raise
    return reader


async def _raise_if_truncated(metadata: LogMetadata, segment: LogSegment) -> None:
    """Raise AlreadyTruncated, or NoSuchLog, if that is why there is no such ledger."""
    await metadata.segment((await metadata.read()).segments, segment.log_segment_sequence_no)


async def _entries(reader: LedgerReader, first: int, follow: bool) -> AsyncGenerator[Entry, None]:
    """Iterate to the end of a ledger; to what is confirmed now, without following, if it is not closed before that."""
    if follow:
        async with aclosing(reader.tail(first)) as entries:
            async for entry in entries:
                yield entry
        return
    cursor, end = first, reader.last_add_confirmed
    while cursor <= end:
        async with aclosing(reader.entries(cursor, end)) as pieces:
            async for piece in pieces:
                for entry in piece:
                    cursor = entry.entry_id + 1
                    yield entry
        if reader.closed:
            end = reader.last_add_confirmed  # which may be more than was confirmed before it was closed

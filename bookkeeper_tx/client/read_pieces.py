"""Reading a range in pieces, for ranges that are too large for memory."""

from collections.abc import AsyncGenerator

from twisted.internet.defer import Deferred

from bookkeeper_tx.client.ledger_entries import LedgerEntries
from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.read_prefix import ReadStyle
from bookkeeper_tx.client.read_range import SEGMENTS_IN_FLIGHT, read_range, segment_count


async def read_pieces(reader: LedgerView, first: int, last: int | None) -> AsyncGenerator[LedgerEntries, None]:
    """Iterate over ``first`` … ``last`` (None: the last add confirmed now), one piece ahead of the caller."""
    end = reader.last_add_confirmed if last is None else last
    if last is None and first == end + 1:
        return

    def piece(start: int) -> "Deferred[LedgerEntries]":
        piece_end = min(end, start + SEGMENTS_IN_FLIGHT * segment_count(reader, ReadStyle.SINGLES) - 1)
        return read_range(reader, start, piece_end, True, reader.last_add_confirmed)

    ahead = piece(first)
    try:
        while True:
            entries = await ahead
            cursor = entries.last_entry_id + 1
            if cursor <= end:
                ahead = piece(cursor)
            yield entries
            if cursor > end:
                return
    finally:
        ahead.addErrback(lambda _: None)
        ahead.cancel()

"""Reading a range in pieces, for ranges that are too large for memory."""

from collections.abc import AsyncGenerator

from bookkeeper_tx.client.ledger_entries import LedgerEntries
from bookkeeper_tx.client.ledger_view import LedgerView
from bookkeeper_tx.client.read_range import read_range
from bookkeeper_tx.client.read_window import COPIES


async def read_pieces(
    reader: LedgerView, first: int, last: int | None, batch: bool = True
) -> AsyncGenerator[LedgerEntries, None]:
    """Iterate over ``first`` … ``last`` (None: the last add confirmed now), reading ahead of the caller."""
    end = reader.last_add_confirmed if last is None else last
    if last is None and first == end + 1:
        return
    held_max = reader.context.config.read_bytes_max // COPIES
    read = read_range(reader, first, end, batch, reader.last_add_confirmed, held_max)
    try:
        while not read.exhausted:
            yield await read.piece()
    finally:
        read.stop()

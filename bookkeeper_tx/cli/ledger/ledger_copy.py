"""Copying between a file and a ledger: lines become entries, payloads become bytes again."""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any, BinaryIO

import click
from twisted.internet.defer import Deferred

from bookkeeper_tx.cli.lines import lines_as_they_come
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.client.deferred_handles import LedgerReader, LedgerWriter
from bookkeeper_tx.model import DigestType, ledger_name

CHUNK_LINES = 500
CHUNKS_IN_FLIGHT = 6
"""Enough to keep the bookies busy, few enough that a slow one does not fill our memory."""


class LineWriter:
    """Appends lines in chunks, several chunks on their way at a time."""

    def __init__(self, writer: LedgerWriter, acknowledged: Callable[[int], Any] = lambda count: None) -> None:
        self._writer = writer
        self._acknowledged = acknowledged
        """Called with the number of entries of each acknowledged chunk."""
        self._in_flight: deque[tuple[Deferred[range], int]] = deque()

    async def write(self, lines: Sequence[bytes]) -> None:
        """Send ``lines``; wait only when too many are on their way."""
        for first in range(0, len(lines), CHUNK_LINES):
            chunk = lines[first : first + CHUNK_LINES]
            self._in_flight.append((self._writer.append_many(chunk), len(chunk)))
            while len(self._in_flight) > CHUNKS_IN_FLIGHT:
                await self._oldest()

    async def drain(self) -> None:
        """Wait until everything sent is acknowledged."""
        while self._in_flight:
            await self._oldest()

    async def _oldest(self) -> None:
        appended, count = self._in_flight.popleft()
        try:
            await appended
        except BaseException:
            for later, _ in self._in_flight:
                later.addErrback(lambda _: None)  # they fail for the same reason
            self._in_flight.clear()
            raise
        self._acknowledged(count)


async def write_lines(reactor: Any, writer: LedgerWriter, file: BinaryIO) -> None:
    """Append every line of ``file`` and wait until all are acknowledged."""
    lines = LineWriter(writer)
    async for some in lines_as_they_come(reactor, file):
        await lines.write(some)
    await lines.drain()


async def open_reader(
    client: BookKeeper, ledger_id: int, password: bytes, digest_type: DigestType | None, recover: bool
) -> LedgerReader:
    """Open a ledger; report on standard error a recovery, or entries that are left out."""
    if not recover:
        reader = await client.open_ledger_no_recovery(ledger_id, password=password, digest_type=digest_type)
        if not reader.closed:
            click.echo(
                f"ledger {ledger_name(ledger_id)} is not closed: reading up to entry {reader.last_add_confirmed},"
                " the last one known to be confirmed",
                err=True,
            )
        return reader
    metadata = await client.ledger_metadata(ledger_id)
    if not metadata.closed:
        click.echo(
            f"warning: recovering ledger {ledger_name(ledger_id)}: its writer is fenced and can add nothing any more",
            err=True,
        )
    return await client.open_ledger(ledger_id, password=password, digest_type=digest_type)


async def read_payloads(
    reader: LedgerReader, first_entry_id: int, last_entry_id: int, batch: bool, end: bytes, out: BinaryIO
) -> None:
    """Write the payloads of a range to ``out``, ``end`` after each."""
    async with aclosing(reader.entries(first_entry_id, last_entry_id, batch=batch)) as pieces:
        async for entries in pieces:
            out.write(end.join([*entries.payloads, b""]) if end else b"".join(entries.payloads))
    out.flush()

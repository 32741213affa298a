"""The steps of ``bktx demo``: store a file while a bookie dies, read it back, read it from an old bookie alone."""

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import frozen
from twisted.internet import task

from bookkeeper_tx.cli.connect import connected
from bookkeeper_tx.cli.ledger.ledger_copy import CHUNK_LINES, LineWriter
from bookkeeper_tx.cli.lines import chunks_of_lines
from bookkeeper_tx.client.deferred_handles import LedgerReader, LedgerWriter
from bookkeeper_tx.errors import BatchReadNotSupported, BookKeeperError

ENSEMBLE_SIZE = WRITE_QUORUM_SIZE = 3
ACK_QUORUM_SIZE = 2

CHUNKS_MIN = 20
"""A small file is written in this many pieces, so that a bookie can be killed in the middle."""

PIECE_ENTRIES = 20_000
"""Entries of one range read."""

SETTLING_S = 0.1
"""Time for the third bookie of an ensemble to write the entries that two have acknowledged already."""


class DemoFailed(BookKeeperError):
    """The entries read are not those written."""


@frozen
class Pace:
    """The amount and the rate of one step."""

    entries: int
    size: int
    """Payload bytes."""
    seconds: float
    sha256: str = ""

    @property
    def entries_per_s(self) -> float:
        return self.entries / self.seconds

    @property
    def mb_per_s(self) -> float:
        return self.size / self.seconds / 1e6


@frozen
class Stored:
    """The file as a closed ledger."""

    ledger_id: int
    pace: Pace
    settled: int
    """Entries that were acknowledged well before the bookie was killed."""


async def store_file(
    writer: LedgerWriter,
    path: Path,
    count: int,
    reactor: Any,
    advance: Callable[[int], Any],
    kill: Callable[[], Any],
) -> Stored:
    """Write the ``count`` lines of a file as entries; call ``kill`` in the middle, appends on their way; close."""
    lines = LineWriter(writer, advance)
    entries = size = settled = 0
    digest = hashlib.sha256()
    started = time.perf_counter()
    with path.open("rb") as file:
        for chunk in chunks_of_lines(file, max(1, min(CHUNK_LINES, count // CHUNKS_MIN))):
            data = b"".join(chunk)
            in_the_middle = entries <= count // 2 < entries + len(chunk)
            if in_the_middle:
                await lines.drain()
                await task.deferLater(reactor, SETTLING_S)
                settled = entries
            await lines.write(chunk)
            if in_the_middle:
                kill()
                await task.deferLater(reactor, SETTLING_S)
            entries += len(chunk)
            size += len(data)
            digest.update(data)
    await lines.drain()
    await writer.close()
    pace = Pace(entries, size, time.perf_counter() - started, digest.hexdigest())
    if writer.last_add_confirmed + 1 != entries:
        raise DemoFailed(f"{entries} lines were written, the ledger has {writer.last_add_confirmed + 1} entries")
    if len(writer.metadata.fragments) < 2:
        raise DemoFailed("a bookie was killed in the middle, and the ledger has no new fragment")
    return Stored(writer.ledger_id, pace, settled)


async def read_back(reader: LedgerReader, path: Path, count: int, batch: bool, advance: Callable[[int], Any]) -> Pace:
    """Read the first ``count`` entries and compare them with the file.  Raises DemoFailed at the first difference.

    Only reading is timed: the comparison is ours, not BookKeeper's.
    """
    digest = hashlib.sha256()
    seconds = 0.0
    size = 0
    with path.open("rb") as file:
        for first in range(0, count, PIECE_ENTRIES):
            started = time.perf_counter()
            entries = await reader.read(first, min(first + PIECE_ENTRIES, count) - 1, batch=batch)
            seconds += time.perf_counter() - started
            data = b"".join(entries.payloads)
            if data != file.read(len(data)):
                raise DemoFailed(f"entries {first} to {entries.last_entry_id} differ from the file")
            digest.update(data)
            size += len(data)
            advance(len(entries))
        if count == reader.last_add_confirmed + 1 and file.read(1):
            raise DemoFailed(f"the file goes on after the last entry, {reader.last_add_confirmed}")
    return Pace(count, size, seconds, digest.hexdigest())


async def read_from_old_bookie(
    reactor: Any, metadata_uri: str, ledger_id: int, path: Path, count: int, advance: Callable[[int], Any]
) -> Pace:
    """Read the first ``count`` entries while only a bookie without batch read is running.

    The strict style must say that batch read is not supported; the default style must give the same bytes all the
    same.
    """
    async with connected(reactor, metadata_uri) as client:
        reader = await client.open_ledger(ledger_id)
        try:
            await reader.read_batch(0, fallback=False)
        except BatchReadNotSupported:
            pass
        else:
            raise DemoFailed("a bookie that imitates release 4.16 served a batch read")
        return await read_back(reader, path, count, True, advance)

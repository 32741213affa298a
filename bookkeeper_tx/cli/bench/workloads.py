"""The workloads of ``bktx bench`` on any number of ledgers, in turns, by the public API only.

Each workload returns (entries, payload bytes, latencies of some of its operations).
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import chain, count, cycle, islice, repeat
from operator import call
from typing import Any

from bookkeeper_tx.cli.bench.window import ON_TWISTED, Latencies, Loop
from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter

Worked = tuple[int, int, Latencies]

RANGE_ENTRIES = 10_000
"""Entries of one range read; the client keeps as many in flight as its configuration says."""

BULK_ENTRIES = 1000
BULKS_IN_FLIGHT = 8

BATCH_ENTRIES = 100
BATCHES_IN_FLIGHT = 8
"""Enough to keep client and bookie both busy."""

PUBLISHED_BATCHES = (100, 500)
"""Entries of a batch request in the table that BP-62 has; there is one request in flight."""
ONE_BY_ONE_SHARE = 10
"""Of the entries, as many are read one by one: each waits for a round trip."""


async def adds(
    writers: Sequence[LedgerWriter], payloads: Sequence[bytes], entries: int, window: int, loop: Loop = ON_TWISTED
) -> Worked:
    """Append ``entries`` entries, a Deferred each, ``window`` in flight, to one ledger after the other."""
    before = _lengths(writers)
    latencies = await loop.windowed(_appended(map(loop.append, writers), payloads, entries), window)
    return entries, _lengths(writers) - before, latencies


async def bulk_adds(
    writers: Sequence[LedgerWriter], payloads: Sequence[bytes], entries: int, loop: Loop = ON_TWISTED
) -> Worked:
    """Append by ``append_many``, ``BULK_ENTRIES`` at once to each ledger in turn."""
    before = _lengths(writers)
    source = islice(cycle(payloads), entries)
    bulks = iter(lambda: list(islice(source, BULK_ENTRIES)), [])
    operations = map(call, cycle(map(loop.append_many, writers)), bulks)
    latencies = await loop.windowed(operations, BULKS_IN_FLIGHT, clock_every=1)
    return entries, _lengths(writers) - before, latencies


async def single_reads(readers: Sequence[LedgerReader], entries: int, window: int, loop: Loop = ON_TWISTED) -> Worked:
    """Read ``entries`` entries, a Deferred each, ``window`` in flight, one ledger after the other."""
    size = 0

    def took(entry: Any) -> None:
        nonlocal size
        size += len(entry.payload)

    latencies = await loop.windowed(_read(map(loop.read_entry, readers), len(readers), entries), window, took)
    return entries, size, latencies


async def range_of_single_reads(readers: Sequence[LedgerReader], entries: int, loop: Loop = ON_TWISTED) -> Worked:
    """Read by pipelined single reads, one Deferred a range, ledger by ledger."""
    size = 0

    def took(found: Any) -> None:
        nonlocal size
        size += sum(map(len, found.payloads))

    ranges = _pieces(readers, entries, RANGE_ENTRIES)
    operations = (reader.read(first, end - 1, batch=False) for reader, first, end in ranges)
    latencies = await loop.windowed(operations, 1, took)
    return entries, size, latencies


async def batch_reads(
    readers: Sequence[LedgerReader],
    entries: int,
    batch: int = BATCH_ENTRIES,
    window: int = BATCHES_IN_FLIGHT,
    loop: Loop = ON_TWISTED,
) -> Worked:
    """Read by batch requests of ``batch`` entries, ``window`` in flight; short replies read on."""
    size = 0

    async def read(reader: LedgerReader, first: int, end: int) -> None:
        nonlocal size
        while first < end:
            found = await loop.awaited(reader.read_batch(first, end - first, fallback=False))
            size += sum(map(len, found.payloads))
            first = found.last_entry_id + 1

    pieces = _pieces(readers, entries, batch)
    latencies = await loop.windowed((loop.spawn(read(*piece)) for piece in pieces), window, clock_every=1)
    return entries, size, latencies


async def reads_beside_adds(
    readers: Sequence[LedgerReader],
    writers: Sequence[LedgerWriter],
    payloads: Sequence[bytes],
    entries: int,
    window: int,
    loop: Loop = ON_TWISTED,
) -> Worked:
    """Read half as many entries and append as many at once, each with half of the window; latencies of the reads."""
    half, share = max(1, entries // 2), max(1, window // 2)
    worked: dict[str, Worked] = {}

    async def work(name: str, workload: Awaitable[Worked]) -> None:
        worked[name] = await workload

    reading = work("reads", single_reads(readers, half, share, loop))
    adding = work("adds", adds(writers, payloads, half, share, loop))
    await loop.windowed(map(loop.spawn, (reading, adding)), 2)
    (read, size_read, latencies), (added, size_added, _) = worked["reads"], worked["adds"]
    return read + added, size_read + size_added, latencies


def _lengths(writers: Sequence[LedgerWriter]) -> int:
    return sum(writer.length for writer in writers)


def _appended(appends: Iterable[Callable[[bytes], Any]], payloads: Sequence[bytes], entries: int) -> Iterator[Any]:
    return map(call, cycle(appends), islice(cycle(payloads), entries))


def _read(reads: Iterable[Callable[[int], Any]], ledgers: int, entries: int) -> Iterator[Any]:
    """Read entry 0 of every ledger, then entry 1, and so on: no line of ours runs for one of them."""
    ids = chain.from_iterable(map(repeat, count(), repeat(ledgers)))
    return map(call, cycle(reads), islice(ids, entries))


def _pieces(readers: Sequence[LedgerReader], entries: int, size: int) -> Iterator[tuple[LedgerReader, int, int]]:
    """Yield ``entries`` entries, spread over the ledgers as :func:`adds` has, as (reader, first, end), in turns."""
    ends = [(entries + len(readers) - 1 - index) // len(readers) for index in range(len(readers))]
    for first in range(0, max(ends), size):
        for reader, end in zip(readers, ends, strict=True):
            if first < end:
                yield reader, first, min(end, first + size)

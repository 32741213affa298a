"""The workloads of ``bktx bench`` on a ledger, by the public API only.

Each workload returns (entries, payload bytes, latencies in seconds of some of its operations).
"""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter

Result = TypeVar("Result")
Worked = tuple[int, int, Sequence[float]]

SAMPLE_EVERY = 16
"""Reading the clock twice for each operation would be a good part of the time measured."""

RANGE_ENTRIES = 10_000
"""Entries of one range read; the client keeps as many in flight as its configuration says."""

BATCH_ENTRIES = 100
BATCHES_IN_FLIGHT = 8
"""Enough to keep client and bookie both busy."""


async def adds(writer: LedgerWriter, payloads: Sequence[bytes], count: int, window: int) -> Worked:
    """Append ``count`` entries, a Deferred each, ``window`` in flight."""
    latencies_s = await _windowed(map(writer.append, islice(cycle(payloads), count)), window)
    return count, writer.length, latencies_s


async def adds_one_at_a_time(writer: LedgerWriter, payloads: Sequence[bytes], count: int) -> Worked:
    """Append ``count`` entries, each after the one before is acknowledged."""
    latencies_s = []
    for payload in islice(cycle(payloads), count):
        started = time.perf_counter()
        await writer.append(payload)
        latencies_s.append(time.perf_counter() - started)
    return count, writer.length, latencies_s


async def range_of_single_reads(reader: LedgerReader, count: int) -> Worked:
    """Read ``count`` entries by pipelined single reads, one Deferred a range."""
    latencies_s = []
    size = 0
    for first in range(0, count, RANGE_ENTRIES):
        started = time.perf_counter()
        entries = await reader.read(first, min(count, first + RANGE_ENTRIES) - 1, batch=False)
        latencies_s.append(time.perf_counter() - started)
        size += sum(map(len, entries.payloads))
    return count, size, latencies_s


async def single_reads(reader: LedgerReader, count: int, window: int) -> Worked:
    """Read ``count`` entries, a Deferred each, ``window`` in flight."""
    size = 0

    def took(entry: Any) -> None:
        nonlocal size
        size += len(entry.payload)

    latencies_s = await _windowed(map(reader.read_entry, range(count)), window, took)
    return count, size, latencies_s


async def batch_reads(reader: LedgerReader, count: int) -> Worked:
    """Read ``count`` entries by batch requests of ``BATCH_ENTRIES``, some of them in flight; short replies read on."""
    size = 0

    async def batch(first: int) -> None:
        nonlocal size
        end = min(count, first + BATCH_ENTRIES)
        while first < end:
            entries = await reader.read_batch(first, end - first, fallback=False)
            size += sum(map(len, entries.payloads))
            first = entries.last_entry_id + 1

    batches = (Deferred.fromCoroutine(batch(first)) for first in range(0, count, BATCH_ENTRIES))
    latencies_s = await _windowed(batches, BATCHES_IN_FLIGHT)
    return count, size, latencies_s


async def _windowed(
    operations: Iterator[Deferred[Result]], window: int, took: Callable[[Result], None] | None = None
) -> list[float]:
    """Keep ``window`` of ``operations`` in flight until all have succeeded, or raise the first error.

    Taking the next from ``operations`` starts it.  Returns the latencies in seconds of the first ``window`` and of
    every SAMPLE_EVERY-th after them.  What is done here for each operation counts as its cost, so it is little.
    """
    done: Deferred[None] = Deferred()
    latencies_s: list[float] = []
    started_count = 0
    missing = window

    def ended(result: Any) -> None:
        nonlocal started_count
        if result.__class__ is Failure:
            fail(result)
        elif took is not None:
            took(result)
        started_count += 1
        if started_count % SAMPLE_EVERY:
            deferred = next(operations, None)
            if deferred is not None:
                deferred.addBoth(ended)  # half the price of addCallbacks
                return
        elif start_sampled():
            return
        end_one()

    def start_sampled() -> bool:
        started = time.perf_counter()
        deferred = next(operations, None)
        if deferred is None:
            return False
        deferred.addCallback(sample, started).addBoth(ended)
        return True

    def sample(result: Result, started: float) -> Result:
        latencies_s.append(time.perf_counter() - started)
        return result

    def end_one() -> None:
        nonlocal missing
        missing -= 1
        if not missing and not done.called:
            done.callback(None)

    def fail(failure: Failure) -> None:
        nonlocal operations
        operations = iter(())
        if not done.called:
            done.errback(failure)

    for _ in range(window):
        if not start_sampled():
            end_one()
    await done
    return latencies_s

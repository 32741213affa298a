"""What ``bktx bench`` does with a ledger, by the public API only.

Each workload returns (entries, payload bytes, latencies in seconds of every SAMPLE_EVERY-th operation).
"""

import time
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.client.ledger_writer import LedgerWriter

Worked = tuple[int, int, Sequence[float]]

SAMPLE_EVERY = 16
"""Looking at the clock twice for each entry would be a good part of what is measured."""

RANGE_ENTRIES = 10_000
"""Entries of one range read; the client keeps as many in flight as its configuration says."""

BATCH_ENTRIES = 100
BATCHES_IN_FLIGHT = 8
"""Enough that client and bookie both always have something to do."""


class _Window:
    """Keeps ``size`` operations in flight until ``count`` have succeeded; ``done`` fires then, or with the first error.

    ``operate(index)`` starts one and returns its Deferred; ``took(result)`` returns the payload bytes it moved.
    """

    def __init__(
        self, size: int, count: int, operate: Callable[[int], Deferred[Any]], took: Callable[[Any], int]
    ) -> None:
        self.done: Deferred[None] = Deferred()
        self.latencies_s: list[float] = []
        self.size = 0
        self._operate = operate
        self._took = took
        self._count = count
        self._next = 0
        self._missing = count
        for _ in range(min(size, count)):
            self._start_one()

    def _start_one(self) -> None:
        index = self._next
        self._next = index + 1
        deferred = self._operate(index)
        if index % SAMPLE_EVERY:
            deferred.addCallbacks(self._succeeded, self._failed)
        else:
            deferred.addCallbacks(self._sampled, self._failed, (time.perf_counter(),))

    def _sampled(self, result: Any, started: float) -> None:
        self.latencies_s.append(time.perf_counter() - started)
        self._succeeded(result)

    def _succeeded(self, result: Any) -> None:
        self.size += self._took(result)
        self._missing -= 1
        if self._next < self._count:
            self._start_one()
        elif not self._missing:
            self.done.callback(None)

    def _failed(self, failure: Any) -> None:
        self._next = self._count
        if not self.done.called:
            self.done.errback(failure)


async def adds(writer: LedgerWriter, payloads: Sequence[bytes], count: int, window: int) -> Worked:
    """Append ``count`` entries, a Deferred each, ``window`` in flight."""
    following = cycle(payloads).__next__
    append = writer.append
    running = _Window(window, count, lambda _: append(following()), lambda _: 0)
    await running.done
    return count, writer.length, running.latencies_s


async def adds_one_at_a_time(writer: LedgerWriter, payloads: Sequence[bytes], count: int) -> Worked:
    """Append ``count`` entries, each after the one before is acknowledged."""
    latencies_s = []
    for _, payload in zip(range(count), cycle(payloads), strict=False):
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
    running = _Window(window, count, reader.read_entry, lambda entry: len(entry.payload))
    await running.done
    return count, running.size, running.latencies_s


async def batch_reads(reader: LedgerReader, count: int) -> Worked:
    """Read ``count`` entries by batch requests of ``BATCH_ENTRIES``, some of them in flight; short replies read on."""

    async def batch(index: int) -> int:
        first = index * BATCH_ENTRIES
        end = min(count, first + BATCH_ENTRIES)
        size = 0
        while first < end:
            entries = await reader.read_batch(first, end - first, fallback=False)
            size += sum(map(len, entries.payloads))
            first = entries.last_entry_id + 1
        return size

    batches = -(-count // BATCH_ENTRIES)
    running = _Window(BATCHES_IN_FLIGHT, batches, lambda index: Deferred.fromCoroutine(batch(index)), int)
    await running.done
    return count, running.size, running.latencies_s

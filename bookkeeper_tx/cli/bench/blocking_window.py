"""The loop that makes load with the client whose calls wait: Futures are waited for in their order."""

import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from operator import attrgetter
from typing import Any

from bookkeeper_tx.blocking.handles import LedgerWriter
from bookkeeper_tx.cli.bench.window import CLOCK_EVERY, Latencies, Loop
from bookkeeper_tx.metadata.blocking.requests import run

THREADS = 16
"""For operations that wait, where several are to be in flight."""


async def windowed(
    operations: Iterator[Any],
    window: int,
    took: Callable[[Any], None] | None = None,
    clock_every: int = CLOCK_EVERY,
) -> Latencies:
    """Keep ``window`` of ``operations`` in flight, those that give Futures; the others have their result at once.

    The next quarter of a window begins when the oldest quarter has ended, as a program does that waits.  The clock is
    read for one operation in ``clock_every``, which counts until its quarter has ended.
    """
    clock = time.perf_counter
    every = min(clock_every, window)
    quarter = max(1, window // 4)
    in_flight: deque[tuple[float, list[Any]]] = deque()
    sampled: list[float] = []
    while True:
        now = clock()
        begun = list(islice(operations, quarter if window > 1 else 1))
        if begun:
            in_flight.append((now, begun))
        elif not in_flight:
            break
        if begun and len(in_flight) * quarter < window:
            continue
        started, ended = in_flight.popleft()
        for each in ended:
            result = each.result() if isinstance(each, Future) else each
            if took is not None:
                took(result)
        sampled += [clock() - started] * -(-len(ended) // every)
    return Latencies(sampled or [0.0], max(sampled, default=0.0))


async def cost_us(count: int = 20_000, window: int = 1000) -> float:
    """Return the CPU of the loop itself for an operation, microseconds."""
    futures: list[Future[int]] = [Future() for _ in range(count)]
    for each in futures:
        each.set_result(0)
    started_ns = time.thread_time_ns()
    await windowed(iter(futures), window)
    return (time.thread_time_ns() - started_ns) / count / 1000


def on_threads() -> Loop:
    """Return the loop for the client whose calls wait."""
    executor = ThreadPoolExecutor(THREADS)

    def spawn(coroutine: Coroutine[Any, Any, Any]) -> "Future[Any]":
        return executor.submit(run, coroutine)

    async def awaited(result: Any) -> Any:
        return result

    def append_many(writer: LedgerWriter) -> Callable[[list[bytes]], Any]:
        return lambda payloads: executor.submit(writer.append_many, payloads)

    append, read_entry = attrgetter("append_later"), attrgetter("read_entry_later")
    return Loop(windowed, spawn, cost_us, awaited, append, append_many, read_entry)

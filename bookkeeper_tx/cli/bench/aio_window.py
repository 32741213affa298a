"""The loop that makes load on asyncio, as ``window.py`` does on Twisted: one callback each, no object of ours."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

from bookkeeper_tx.cli.bench.window import CLOCK_EVERY, Latencies, Loop


async def windowed(
    operations: Iterator[Any],
    window: int,
    took: Callable[[Any], None] | None = None,
    clock_every: int = CLOCK_EVERY,
) -> Latencies:
    """Keep ``window`` of ``operations``, Futures, in flight until all have succeeded, or raise the first error.

    The clock is read for one operation in ``clock_every``: those that lie in between are as old as the one before them.
    """
    clock = time.perf_counter
    every = min(clock_every, window)
    done = asyncio.get_running_loop().create_future()
    sampled: list[float] = []
    slowest = 0.0
    ended_count = missing = 0
    started: dict[Any, float] = {}
    """When the sampled ones began."""

    def begin() -> None:
        nonlocal ended_count, missing
        future = next(operations, None)
        if future is None:
            if not missing and not done.done():
                done.set_result(None)
            return
        missing += 1
        ended_count += 1
        if not ended_count % every:
            started[future] = clock()
        future.add_done_callback(ended)

    def ended(future: Any) -> None:
        nonlocal missing, slowest, operations
        missing -= 1
        try:
            result = future.result()
            if future in started:
                sampled.append(clock() - started.pop(future))
                slowest = max(slowest, sampled[-1])
            if took is not None:
                took(result)
            begin()
        except Exception as error:
            operations = iter(())
            if not done.done():
                done.set_exception(error)

    for _ in range(window):
        begin()
    await done
    return Latencies(sampled or [slowest], slowest)


async def cost_us(count: int = 20_000, window: int = 1000) -> float:
    """Return the CPU of the loop itself for an operation, microseconds: beyond making and firing a Future."""
    loop = asyncio.get_running_loop()
    in_flight: list[asyncio.Future[int]] = []

    def begin() -> "asyncio.Future[int]":
        in_flight.append(loop.create_future())
        return in_flight[-1]

    async def fire() -> None:
        while in_flight:
            fired = in_flight[:]
            in_flight.clear()
            for future in fired:
                future.set_result(0)
            await asyncio.sleep(0)

    started_ns = time.thread_time_ns()
    await asyncio.gather(windowed((begin() for _ in range(count)), window), fire())
    with_loop_ns = time.thread_time_ns() - started_ns
    started_ns = time.thread_time_ns()
    alone = [loop.create_future() for _ in range(count)]
    for future in alone:
        future.set_result(0)
    return max(0, with_loop_ns - (time.thread_time_ns() - started_ns)) / count / 1000


ON_ASYNCIO = Loop(windowed, asyncio.ensure_future, cost_us)

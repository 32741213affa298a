"""The loop that makes load: a number of operations in flight, one callback each, no coroutine and no object of ours."""

import time
from collections.abc import Awaitable, Callable, Iterator
from operator import attrgetter
from typing import Any, TypeVar

from attrs import frozen
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

Result = TypeVar("Result")

CLOCK_EVERY = 16
"""Reading the clock twice for each operation would be a good part of the time measured."""


@frozen
class Latencies:
    """How long operations took, in seconds."""

    sampled: list[float]
    """Of one operation in :data:`CLOCK_EVERY`."""
    slowest: float
    """Of all operations."""


@frozen
class Loop:
    """The loop that makes load, on one face of the client."""

    windowed: Callable[..., Awaitable[Latencies]]
    """Keeps operations in flight, as :func:`windowed` does."""
    spawn: Callable[..., Any]
    """Makes an operation of a coroutine."""
    cost_us: Callable[[], Awaitable[float]]
    """Measures the loop itself, microseconds an operation."""
    awaited: Callable[[Any], Awaitable[Any]] = lambda promise: promise
    """Makes what a call gives something to await: nothing is to be done for promises."""
    append: Callable[[Any], Callable[[bytes], Any]] = attrgetter("append")
    """The method of a writer by which appends are in flight."""
    append_many: Callable[[Any], Callable[[list[bytes]], Any]] = attrgetter("append_many")
    """The method of a writer by which many appends are."""
    read_entry: Callable[[Any], Callable[[int], Any]] = attrgetter("read_entry")
    """The method of a reader by which reads of an entry are."""


async def windowed(
    operations: Iterator[Deferred[Result]],
    window: int,
    took: Callable[[Result], None] | None = None,
    clock_every: int = CLOCK_EVERY,
) -> Latencies:
    """Keep ``window`` of ``operations`` in flight until all have succeeded, or raise the first error.

    Taking the next from ``operations`` starts it; ``took`` is called with each result.  An operation counts from the
    clock's last reading before it, which is at most ``clock_every`` operations old.
    """
    clock = time.perf_counter
    every = min(clock_every, window)
    done: Deferred[None] = Deferred()
    sampled: list[float] = []
    slowest = 0.0
    ended_count = 0
    missing = window
    now = clock()

    def ended(result: Any, started: float) -> None:
        nonlocal ended_count, now, slowest
        if result.__class__ is Failure:
            fail(result)
        try:
            if took is not None and result.__class__ is not Failure:
                took(result)
            deferred = next(operations, None)
        except Exception:
            fail(Failure())  # type: ignore[no-untyped-call]
            return
        ended_count += 1
        if not ended_count % every:
            now = clock()
            sampled.append(now - started)
        elif deferred is None:
            now = clock()  # there may be no 16 more
        if now - started > slowest:
            slowest = now - started
        if deferred is None:
            end_one()
        else:
            deferred.addBoth(ended, now)  # half the price of addCallbacks

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

    for index in range(window):
        if not index % every:
            now = clock()
        deferred = next(operations, None)
        if deferred is None:
            end_one()
        else:
            deferred.addBoth(ended, now)
    await done
    return Latencies(sampled or [slowest], slowest)


async def cost_us(count: int = 20_000, window: int = 1000) -> float:
    """Return the CPU of the loop itself for an operation, microseconds: beyond making and firing a Deferred."""
    with_loop = await _fired_ns(count, window)
    started_ns = time.thread_time_ns()
    alone: list[Deferred[int]] = []
    for _ in range(count):
        alone.append(Deferred())
    for deferred in alone:
        deferred.callback(0)
    return max(0, with_loop - (time.thread_time_ns() - started_ns)) / count / 1000


async def _fired_ns(count: int, window: int) -> int:
    """Return the CPU of ``count`` operations that end as soon as their turn comes, nanoseconds."""
    in_flight: list[Deferred[int]] = []

    def begin() -> Deferred[int]:
        deferred: Deferred[int] = Deferred()
        in_flight.append(deferred)
        return deferred

    started_ns = time.thread_time_ns()
    running = Deferred.fromCoroutine(windowed((begin() for _ in range(count)), window))
    for deferred in in_flight:  # grows meanwhile
        deferred.callback(0)
    await running
    return time.thread_time_ns() - started_ns


ON_TWISTED = Loop(windowed, Deferred.fromCoroutine, cost_us)

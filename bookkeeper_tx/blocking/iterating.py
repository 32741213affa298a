"""Iterating, on a thread that waits, over what the loop's thread iterates over."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import suppress
from typing import TypeVar

from bookkeeper_tx.blocking.loop_thread import LoopThread
from bookkeeper_tx.errors import BookKeeperError

T = TypeVar("T")


def iterated(thread: LoopThread, begin: Callable[[], AsyncGenerator[T, None]]) -> Iterator[T]:
    """Iterate over what the loop's thread iterates over; it ends there soon after the caller stops."""
    iterator = begin()
    steps: list[asyncio.Task[T]] = []
    """The one that is under way."""

    async def step() -> T:
        task = asyncio.current_task()
        assert task is not None
        steps[:] = [task]
        return await anext(iterator)

    async def end() -> None:
        for task in steps:
            task.cancel()
            await asyncio.wait([task])
        await iterator.aclose()

    try:
        while True:
            try:
                yield thread.call(step)
            except StopAsyncIteration:
                return
    except BaseException:
        # Not waited for: the interpreter may be ending.
        with suppress(BookKeeperError):
            thread.begin(end)
        raise

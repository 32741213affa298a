"""The client whose calls wait, as an event loop uses it: each call waits on a thread of its own.

So it can be asked for several things at once, as the others can, and is judged by the same cases.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any, Final, Self

from bookkeeper_tx.blocking.client import BookKeeper
from bookkeeper_tx.blocking.handles import LedgerReader
from bookkeeper_tx.blocking.write_handle import WriteHandle
from bookkeeper_tx.threads.daemon_thread import DaemonThread

_END: Final = object()


def on_thread(function: Callable[..., Any], *arguments: Any, **options: Any) -> "asyncio.Future[Any]":
    """Call ``function`` on a thread of its own; the Future has its result, in which handles are :class:`OnThreads`."""

    def call() -> Any:
        result = function(*arguments, **options)
        return OnThreads(result) if isinstance(result, LedgerReader | WriteHandle) else result

    thread = DaemonThread(getattr(function, "__name__", "call"), asyncio.get_running_loop())
    called = thread.run(call)
    thread.end()
    return called


class OnThreads:
    """A client or handle of :mod:`bookkeeper_tx.blocking`, with the names of those on asyncio."""

    def __init__(self, waiting: BookKeeper | LedgerReader | WriteHandle[Any]) -> None:
        self.waiting: Any = waiting

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.waiting, name)
        return (lambda *arguments, **options: on_thread(found, *arguments, **options)) if callable(found) else found

    def append(self, *arguments: Any) -> "asyncio.Future[int]":
        """Append in the order of the calls, which threads do not have."""
        try:
            return asyncio.wrap_future(self.waiting.append_later(*arguments))
        except Exception as error:
            failed = asyncio.get_running_loop().create_future()
            failed.set_exception(error)
            return failed

    def entries(self, *arguments: Any, **options: Any) -> AsyncGenerator[Any, None]:
        """Iterate over pieces."""
        return _iterated(self.waiting.entries(*arguments, **options))

    def tail(self, *arguments: Any) -> AsyncGenerator[Any, None]:
        """Iterate over entries as they are confirmed."""
        return _iterated(self.waiting.tail(*arguments))

    def __aiter__(self) -> AsyncGenerator[Any, None]:
        return _iterated(iter(self.waiting))

    async def __aenter__(self) -> Self:
        await on_thread(self.waiting.__enter__)
        return self

    async def __aexit__(self, *raised: object) -> None:
        await on_thread(self.waiting.__exit__, *raised)


async def _iterated(iterator: Iterator[Any]) -> AsyncGenerator[Any, None]:
    while (found := await on_thread(next, iterator, _END)) is not _END:
        yield found

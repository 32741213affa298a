"""Results that a loop's thread brings to others: Futures to these, promises to the rules of the client."""

import asyncio
import threading
from concurrent.futures import Future
from concurrent.futures._base import CANCELLED, CANCELLED_AND_NOTIFIED, FINISHED, PENDING
from typing import Any, TypeVar

T = TypeVar("T")

ENDED = (FINISHED, CANCELLED, CANCELLED_AND_NOTIFIED)


class Later(Future[T]):
    """A Future of which thousands may be under way: they share a lock, and those of a turn of the loop end at once."""

    def __init__(self, results: "Results") -> None:
        # All that a Future has: its own __init__ makes a lock, which costs more than the rest of a call.
        self._results = results
        self._condition = results.condition
        self._state = PENDING
        self._result: Any = None
        self._exception: BaseException | None = None
        self._waiters: list[Any] = []
        self._done_callbacks: list[Any] = []

    # Of any thread ---------------------------------------------------------------------------------------------------

    def cancel(self) -> bool:
        """Give it up; False if its result is there.  Those who wait for one of several hear of it at once."""
        cancelled = super().cancel()
        with self._condition:
            if self._state == CANCELLED:
                self.set_running_or_notify_cancel()
        return cancelled

    def cancelled(self) -> bool:
        """Whether it was given up."""
        return self._state == CANCELLED_AND_NOTIFIED or self._state == CANCELLED

    def result(self, timeout: float | None = None) -> T:
        """Return the result, or raise the error; TimeoutError after ``timeout`` seconds."""
        if self._state not in ENDED:
            self._wait(timeout)
        if self._state == FINISHED and self._exception is None:
            return self._result  # type: ignore[no-any-return]
        return super().result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return the error, None if there is a result; TimeoutError after ``timeout`` seconds."""
        if self._state not in ENDED:
            self._wait(timeout)
        return super().exception(0)

    def _wait(self, timeout: float | None) -> None:
        waiter = _Waiter()
        with self._condition:
            if self._state in ENDED:
                return
            self._waiters.append(waiter)
        if not waiter.lock.acquire(timeout=-1 if timeout is None else max(0.0, timeout)):
            with self._condition:
                self._waiters.remove(waiter)

    # Of the loop's thread, as a promise ------------------------------------------------------------------------------

    def callback(self, result: T) -> None:
        """Bring the result."""
        self._result = result
        brought = self._results.brought
        if not brought:
            self._results.show_soon()
        brought.append(self)

    def errback(self, error: BaseException) -> None:
        """Bring the error."""
        self._exception = error
        self.callback(None)  # type: ignore[arg-type]

    def show(self) -> bool:
        """Show what was brought, the lock held; return whether callbacks wait for :meth:`call_back`."""
        if self._state != PENDING:
            return False  # it was cancelled
        self._state = FINISHED
        for waiter in self._waiters:
            (waiter.add_result if self._exception is None else waiter.add_exception)(self)
        return bool(self._done_callbacks)

    def call_back(self) -> None:
        """Make the callbacks."""
        self._invoke_callbacks()  # type: ignore[attr-defined]


class Results:
    """The results that one loop brings."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.condition = threading.Condition()
        """Of all its Futures.  Each thread waits by a lock of its own, so that none is woken for another."""
        self.brought: list[Later[Any]] = []
        """Those that have their result, and do not show it yet."""
        self.missing: set[Later[Any]] = set()
        """Those that have none of what the loop has begun."""

    def show_soon(self) -> None:
        """Have :meth:`show` called at the end of this turn."""
        if not self._loop.is_closed():
            self._loop.call_soon(self.show)

    def show(self) -> None:
        """Show what was brought to the other threads."""
        shown = self.brought[:]
        self.brought.clear()
        self.missing.difference_update(shown)
        with self.condition:
            called_back = [later for later in shown if later.show()]
        for later in called_back:
            later.call_back()


class _Waiter:
    """A thread that waits for one Future, with the methods of those that ``concurrent.futures.wait`` adds."""

    __slots__ = ("lock",)

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lock.acquire()

    def add_result(self, _: object) -> None:
        self.lock.release()

    add_exception = add_cancelled = add_result

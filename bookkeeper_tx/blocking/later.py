"""Results that a loop's thread brings to others: Futures to these, promises to the rules of the client."""

import asyncio
import logging
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from concurrent.futures._base import CANCELLED_AND_NOTIFIED, FINISHED, PENDING
from typing import Any, TypeVar

from bookkeeper_tx.errors import IllegalOperation

T = TypeVar("T")

ENDED = (FINISHED, CANCELLED_AND_NOTIFIED)

log = logging.getLogger("bookkeeper_tx")


class Later(Future[T]):
    """A Future of which thousands may be under way; those of a turn of the loop end at its end."""

    def __init__(self, results: "Results") -> None:
        # All that a Future has: its own __init__ makes a condition, which costs more than the rest of a call.
        self._results = results
        self.lock: Any = None
        self._state = PENDING
        self._result: Any = None
        self._exception: BaseException | None = None
        self._waiters: list[Any] = []
        self._done_callbacks: list[Any] = []

    @property
    def _condition(self) -> Any:  # type: ignore[override]
        """A lock of its own, made for the first who looks; a thread that waits does so by another.

        No other can share it: concurrent.futures.wait() takes those of its Futures in the order of their addresses.
        """
        if self.lock is None:
            with self._results.making_locks:
                lock = threading.RLock()
                if self.lock is None:
                    self.lock = lock
        return self.lock

    # Of any thread ---------------------------------------------------------------------------------------------------

    def cancel(self) -> bool:
        """Give it up; False if its result is there.  Those who wait for one of several hear of it at once."""
        with self._condition:
            if self._state != PENDING:
                return self.cancelled()
            self._state = CANCELLED_AND_NOTIFIED
            for waiter in self._waiters:
                waiter.add_cancelled(self)
        self._invoke_callbacks()  # type: ignore[attr-defined]
        return True

    def cancelled(self) -> bool:
        """Whether it was given up."""
        return self._state == CANCELLED_AND_NOTIFIED

    def result(self, timeout: float | None = None) -> T:
        """Return the result, or raise the error; TimeoutError after ``timeout`` seconds."""
        if self._state not in ENDED:
            self._wait(timeout)
        if self._state == FINISHED and self._exception is None:
            return self._result  # type: ignore[no-any-return]
        try:
            return super().result(0)
        finally:
            self = None  # type: ignore[assignment]  # else the error that is raised would hold what holds it

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return the error, None if there is a result; TimeoutError after ``timeout`` seconds."""
        if self._state not in ENDED:
            self._wait(timeout)
        return super().exception(0)

    def _wait(self, timeout: float | None) -> None:
        if threading.get_ident() == self._results.thread_id and (timeout is None or timeout > 0):
            raise IllegalOperation("a callback waits for a Future of the same client, which cannot end meanwhile")
        waiter = _Waiter()
        with self._condition:
            if self._state in ENDED:
                return
            self._waiters.append(waiter)
        if not waiter.lock.acquire(timeout=-1 if timeout is None else max(0.0, timeout)):
            with self._condition:
                if self._state in ENDED:
                    return
                self._waiters.remove(waiter)
            raise TimeoutError

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
        """Show what was brought; return whether callbacks wait for :meth:`call_back`."""
        with self._condition:
            if self._state != PENDING:
                return False  # it was cancelled
            self._state = FINISHED
            for waiter in self._waiters:
                (waiter.add_result if self._exception is None else waiter.add_exception)(self)
            return bool(self._done_callbacks)

    def call_back(self) -> None:
        """Make the callbacks, on the loop's thread.  What they raise is logged, whatever it is: the thread goes on."""
        callbacks, self._done_callbacks = self._done_callbacks, []
        for callback in callbacks:
            try:
                callback(self)
            except BaseException:
                log.exception("the callback %r of a Future has failed", callback)

    def leave_to_parent(self) -> None:
        """End it in a child process, after a fork, whatever the threads of the parent did with it."""
        self.lock = None
        self._exception = IllegalOperation(
            "this Future belongs to the parent process, which alone will have its result"
        )
        self._state = FINISHED


class Results:
    """The results that one loop brings."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.making_locks = threading.RLock()
        """Held while a Future gets its lock, and while those end that have none."""
        self.inherited = False
        """Whether this is a child process of the one that made it: nothing is brought to it."""
        self.thread_id: int | None = None
        """The loop's thread, while it runs."""
        self.brought: list[Later[Any]] = []
        """Those that have their result, and do not show it yet."""
        self.missing: set[Later[Any]] = set()
        """Those that have none of what the loop has begun."""

    def inherit(self, not_begun: Iterable[Later[Any]]) -> None:
        """End all that have no result in a child process, after a fork; ``not_begun`` are not :attr:`missing` yet."""
        self.inherited = True
        self.making_locks = threading.RLock()  # the thread that held it may not be there
        for later in [*self.missing, *self.brought, *not_begun]:
            later.leave_to_parent()

    def show_soon(self) -> None:
        """Have :meth:`show` called at the end of this turn."""
        if not self._loop.is_closed():
            self._loop.call_soon(self.show)

    def show(self) -> None:
        """Show what was brought to the other threads."""
        shown = self.brought[:]
        self.brought.clear()
        self.missing.difference_update(shown)
        seen = []
        with self.making_locks:
            for later in shown:
                if later.lock is None:
                    later._state = FINISHED  # at which nobody has looked
                else:
                    seen.append(later)
        called_back = [later for later in seen if later.show()]
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

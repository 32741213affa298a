"""An event loop on a thread of its own, for callers that wait: scripts, notebooks, threads of an executor."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakSet

from bookkeeper_tx.blocking.later import Later, Results
from bookkeeper_tx.errors import ClientClosed, IllegalOperation

T = TypeVar("T")

END_S = 1.0
"""How long what is given up may take to end."""

_Call = tuple[Callable[[Any, Later[Any]], object], Any, Later[Any]]
"""What begins it, called with an argument and with what is to have the result."""

_made: "WeakSet[LoopThread]" = WeakSet()


def _after_fork() -> None:
    for each in _made:
        each._results.inherit([later for _, _, later in each._calls])


if hasattr(os, "register_at_fork"):
    # To ask for the process's id in each call is a system call, as much as all else that hands the call over.
    os.register_at_fork(after_in_child=_after_fork)


class LoopThread:
    """Runs calls on an event loop.  Any thread may call, except the loop's own."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._calls: list[_Call] = []
        """Those that the loop has not begun; it is woken for the first of them only."""
        self._woken = False
        self._results = Results(self.loop)
        _made.add(self)
        # One thread may come here again: a collection of garbage may end an iteration that was left half way.
        self._lock = threading.RLock()
        self.closed = False
        # A daemon: a program that does not close its client can end all the same.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def inherited(self) -> bool:
        """Whether this is a child process of the one that made it: the thread itself is not there."""
        return self._results.inherited

    def begin(self, function: Callable[[], Awaitable[T]]) -> "Future[T]":
        """Call ``function`` on the loop, after all that were begun before; return what will have its result.

        Cancelling that gives up waiting there, too.  Raises as :meth:`answered`.
        """
        return self.answered(self._begin, function)

    def answered(self, take: Callable[[Any, Any], object], argument: Any) -> "Future[Any]":
        """Call ``take(argument, later)`` on the loop, after all that were begun before; return that ``later``.

        It is a promise that ``take`` brings the result to.  Cancelled before its turn, it is not taken.

        Raises ClientClosed, and IllegalOperation as :meth:`require_elsewhere`.
        """
        self.require_elsewhere()
        later: Later[Any] = Later(self._results)
        with self._lock:
            if self.closed:
                raise ClientClosed()
            self._calls.append((take, argument, later))
            if not self._woken:
                self.loop.call_soon_threadsafe(self._begin_all)
                self._woken = True  # after it: an interrupt in between costs a call too many, not all later ones
        return later

    def require_elsewhere(self) -> None:
        """Raise IllegalOperation where a call would wait for ever.

        That is in a child process after a fork, which has no such thread, and on the loop's own thread.
        """
        if self._results.inherited:
            raise IllegalOperation("this client belongs to the parent process: make one after the fork")
        if threading.get_ident() == self._results.thread_id:
            raise IllegalOperation("called on the client's own thread, by a callback of one of its Futures")

    def call(self, function: Callable[[], Awaitable[T]]) -> T:
        """Call ``function`` on the loop, and wait for its result; raises as :meth:`begin`, and what it raises.

        A KeyboardInterrupt meanwhile gives it up.
        """
        return self.wait(self.begin(function))

    @staticmethod
    def wait(result: "Future[T]") -> T:
        """Wait for what was begun; a KeyboardInterrupt gives it up."""
        try:
            return result.result()
        except BaseException:
            result.cancel()
            raise
        finally:
            del result  # else the error that is raised would hold what holds it

    def close(self) -> None:
        """End loop and thread.  What was begun and has no result fails with ClientClosed."""
        if self.inherited:
            self.closed = True  # without the lock: the thread that held it at the fork is not there to release it
            return
        with self._lock:
            if self.closed:
                return
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.closed = True  # after it: an interrupt in between leaves it to the next call
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        self._results.thread_id = threading.get_ident()
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(self._give_up())
        finally:
            with self._lock:
                self.closed = True
                self._results.thread_id = None  # a later thread may have it
            self.loop.close()
            self._results.show()
            for later in [*self._results.missing, *(later for _, _, later in self._calls)]:
                later.errback(ClientClosed())
            self._results.show()

    async def _give_up(self) -> None:
        """Cancel what is under way, then end the iterations left half way, and what these begin; each has ``END_S``."""
        own = {asyncio.current_task()}
        tasks = asyncio.all_tasks() - own
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=END_S)
        # Only now: an iteration cannot be ended while one of the tasks goes on with it.
        ending = {asyncio.ensure_future(self.loop.shutdown_asyncgens()), *asyncio.all_tasks() - own}
        await asyncio.wait(ending, timeout=END_S)

    def _begin_all(self) -> None:
        with self._lock:
            calls, self._calls, self._woken = self._calls, [], False
        missing = self._results.missing
        missing.update([later for _, _, later in calls])
        for take, argument, later in calls:
            if later.cancelled():
                missing.discard(later)
                continue
            try:
                take(argument, later)
            except Exception as error:
                later.errback(error)

    def _begin(self, function: Callable[[], Awaitable[Any]], later: Later[Any]) -> None:
        promise: Any = asyncio.ensure_future(function(), loop=self.loop)

        def done(ended: "asyncio.Future[Any]") -> None:
            if ended.cancelled():
                later.errback(ClientClosed())
                return
            error = ended.exception()  # also if nobody wants it any more
            if error is not None:
                later.errback(error)
            else:
                later.callback(ended.result())
            self._results.show()  # a turn of the loop earlier: somebody waits for this one

        def given_up(given: "Future[Any]") -> None:  # of its own name: what it closes over would hold what holds it
            if given.cancelled():
                with suppress(RuntimeError):  # the loop has ended
                    self.loop.call_soon_threadsafe(promise.cancel)

        promise.add_done_callback(done)
        later.add_done_callback(given_up)

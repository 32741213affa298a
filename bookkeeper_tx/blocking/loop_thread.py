"""An event loop on a thread of its own, for callers that wait: scripts, notebooks, threads of an executor."""

import asyncio
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from bookkeeper_tx.errors import ClientClosed, IllegalOperation

T = TypeVar("T")

_Call = tuple[Callable[[], Awaitable[Any]], "Future[Any]"]


class LoopThread:
    """Runs calls on an event loop.  Any thread may call, except the loop's own."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._process = os.getpid()
        self._calls: deque[_Call] = deque()
        """Those that the loop has not begun; it is woken for the first of them only."""
        self._woken = False
        self._begun: set[Future[Any]] = set()
        """What has no result yet of those that the loop has begun."""
        self._lock = threading.Lock()
        self.closed = False
        # A daemon: a program that does not close its client can end all the same.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def begin(self, function: Callable[[], Awaitable[T]]) -> "Future[T]":
        """Call ``function`` on the loop, after all that were begun before; return what will have its result.

        Cancelling that gives up waiting there, too.  Raises ClientClosed, and IllegalOperation where a call would wait
        for ever: in a child process after a fork, which has no such thread, and on the loop's own thread.
        """
        if os.getpid() != self._process:
            raise IllegalOperation("this client belongs to the parent process: make one after the fork")
        if threading.current_thread() is self._thread:
            raise IllegalOperation("called on the client's own thread, by a callback of one of its Futures")
        result: Future[T] = Future()
        with self._lock:
            if self.closed:
                raise ClientClosed("this client was closed")
            self._calls.append((function, result))
            if not self._woken:
                self.loop.call_soon_threadsafe(self._begin_all)
                self._woken = True  # after it: an interrupt in between costs a call too many, not all later ones
        return result

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

    def close(self) -> None:
        """End loop and thread.  What was begun and has no result fails with ClientClosed."""
        with self._lock:
            if self.closed:
                return
            self.closed = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.loop.run_until_complete(asyncio.sleep(0))
        finally:
            with self._lock:
                self.closed = True
            self.loop.close()
            for result in [*self._begun, *(result for _, result in self._calls)]:
                if not result.done() and result.set_running_or_notify_cancel():
                    result.set_exception(ClientClosed("this client was closed"))

    def _begin_all(self) -> None:
        with self._lock:
            calls, self._calls, self._woken = self._calls, deque(), False
        for function, result in calls:
            if result.cancelled():
                result.set_running_or_notify_cancel()  # tells those who wait for one of several
            else:
                self._begin(function, result)

    def _begin(self, function: Callable[[], Awaitable[Any]], result: "Future[Any]") -> None:
        try:
            promise: Any = asyncio.ensure_future(function(), loop=self.loop)
        except Exception as error:
            if result.set_running_or_notify_cancel():
                result.set_exception(error)
            return
        self._begun.add(result)

        def done(ended: "asyncio.Future[Any]") -> None:
            self._begun.discard(result)
            error = None if ended.cancelled() else ended.exception()  # also if nobody wants it any more
            if not result.set_running_or_notify_cancel():
                return
            if ended.cancelled():
                result.set_exception(ClientClosed("this client was closed"))
            elif error is not None:
                result.set_exception(error)
            else:
                result.set_result(ended.result())

        def given_up(_: "Future[Any]") -> None:
            if result.cancelled() and not self.closed:
                self.loop.call_soon_threadsafe(promise.cancel)

        promise.add_done_callback(done)
        result.add_done_callback(given_up)

"""Threads for work that blocks.  Each job's result comes back to the reactor thread by one wake-up."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Protocol

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads
from twisted.python.failure import Failure

_Job = tuple[Deferred[Any], Callable[..., Any], tuple[Any, ...]]


class Threads(Protocol):
    """Runs jobs that block: a :class:`Worker`, or in tests an object that runs them at once."""

    def run(self, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        """Call ``function(*args)``; fires on the reactor thread with its result or its error."""
        ...


class Worker:
    """Runs jobs in the order given, on ``threads`` threads of its own.

    Daemon threads: a job stuck in a dying disk must not keep the process alive.
    """

    def __init__(self, reactor: IReactorFromThreads, name: str, threads: int = 1) -> None:
        self._reactor = reactor
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._running = threads
        self._stopping = False
        self._stopped: list[Deferred[None]] = []
        for index in range(threads):
            thread_name = name if threads == 1 else f"{name}-{index}"
            threading.Thread(target=self._work, name=thread_name, daemon=True).start()

    def run(self, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        """Call ``function(*args)`` on the worker's thread; fires on the reactor thread with its result or its error."""
        if self._stopping:
            raise RuntimeError("the worker was stopped")
        done: Deferred[Any] = Deferred()
        self._jobs.put((done, function, args))
        return done

    @property
    def waiting_count(self) -> int:
        """Jobs that no thread has begun."""
        return self._jobs.qsize()

    def stop(self) -> Deferred[None]:
        """Take no more jobs and finish those taken; fires when no thread is left."""
        stopped: Deferred[None] = Deferred()
        if not self._running:
            stopped.callback(None)
            return stopped
        self._stopped.append(stopped)
        if not self._stopping:
            self._stopping = True
            for _ in range(self._running):
                self._jobs.put(None)
        return stopped

    def _work(self) -> None:
        call_from_thread = self._reactor.callFromThread
        while (job := self._jobs.get()) is not None:
            done, function, args = job
            try:
                result = function(*args)
            except BaseException:
                result = Failure()  # type: ignore[no-untyped-call]
            call_from_thread(done.callback, result)
            # A failure's traceback, and a result that may be large, must not live on until the next job.
            del job, done, function, args, result
        call_from_thread(self._ended)

    def _ended(self) -> None:
        self._running -= 1
        if not self._running:
            for stopped in self._stopped:
                stopped.callback(None)

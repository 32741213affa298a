"""Workers without threads, with the interface of bookkeeper_tx.threads.worker.Worker."""

from collections import deque
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, maybeDeferred, succeed
from twisted.python.failure import Failure


class InlineWorker:
    """Runs each job at once: the Deferred has fired when ``run`` returns."""

    def run(self, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        return maybeDeferred(function, *args)

    def stop(self) -> Deferred[None]:
        return succeed(None)


class SteppedWorker:
    """Runs a job when the test says so.

    ``execute`` does the oldest job's work and keeps its result back, as a thread does whose result has not yet reached
    the reactor; ``deliver`` hands over the oldest result; ``step`` is both.
    """

    def __init__(self) -> None:
        self.jobs: deque[tuple[Deferred[Any], Callable[..., Any], tuple[Any, ...]]] = deque()
        self.results: deque[tuple[Deferred[Any], Any]] = deque()

    def run(self, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        done: Deferred[Any] = Deferred()
        self.jobs.append((done, function, args))
        return done

    def execute(self) -> None:
        done, function, args = self.jobs.popleft()
        try:
            result = function(*args)
        except Exception:
            result = Failure()
        self.results.append((done, result))

    def deliver(self) -> None:
        done, result = self.results.popleft()
        done.callback(result)

    def step(self) -> None:
        self.execute()
        self.deliver()

    def run_all(self) -> None:
        """Step until no job and no result is left, including those that steps give rise to."""
        while self.jobs or self.results:
            if self.jobs:
                self.execute()
            while self.results:
                self.deliver()

    def stop(self) -> Deferred[None]:
        self.run_all()
        return succeed(None)

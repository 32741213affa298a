"""How many of a session's running tasks are done: asked of the driver, or reported by a Spark Connect server."""

import threading
from collections.abc import Callable, Iterable
from typing import Any

from attrs import frozen


@frozen
class RunningTasks:
    """Tasks of the stages that are running; none while a query is planned."""

    done: int = 0
    all: int = 0

    def __add__(self, other: "RunningTasks") -> "RunningTasks":
        return RunningTasks(self.done + other.done, self.all + other.all)

    def __str__(self) -> str:
        return f"{self.done:,} of {self.all:,} tasks done" if self.all else ""


def running_tasks(session: Any) -> Callable[[], RunningTasks]:
    """Return a function that counts the tasks of ``session``; any thread may call it."""
    try:
        context = session.sparkContext
    except AttributeError:  # a session of Spark Connect
        told = ToldTasks()
        session.registerProgressHandler(told)
        return told.now
    tracker = context.statusTracker()
    return lambda: _of_stages(map(tracker.getStageInfo, tracker.getActiveStageIds()))


def _of_stages(stages: Iterable[Any]) -> RunningTasks:
    # A stage that has ended meanwhile is None.
    found = (RunningTasks(each.numCompletedTasks, each.numTasks) for each in stages if each is not None)
    return sum(found, RunningTasks())


class ToldTasks:
    """Keeps the progress that a Spark Connect server reports of its operations; several may run at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of_operation: dict[str | None, RunningTasks] = {}

    def __call__(self, stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        """Take a report; the signature is that of Spark's handlers of progress."""
        with self._lock:
            if done:
                self._of_operation.pop(operation_id, None)
                return
            running = (each for each in stages or () if not each.done)
            counted = (RunningTasks(each.num_completed_tasks, each.num_tasks) for each in running)
            self._of_operation[operation_id] = sum(counted, RunningTasks())

    def now(self) -> RunningTasks:
        with self._lock:
            return sum(self._of_operation.values(), RunningTasks())

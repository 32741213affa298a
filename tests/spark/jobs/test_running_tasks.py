"""Tasks of a session, as a status tracker gives them, and as a server of Spark Connect reports them."""

from types import SimpleNamespace
from typing import Any

from bookkeeper_tx.spark.jobs.running_tasks import RunningTasks, ToldTasks, running_tasks


def stage(completed: int, tasks: int, *, done: bool = False) -> Any:
    return SimpleNamespace(num_completed_tasks=completed, num_tasks=tasks, done=done)


class RemoteSession:
    """The part of a Spark Connect session that these tests need."""

    def __init__(self) -> None:
        self.handlers: list[Any] = []

    def registerProgressHandler(self, handler: Any) -> None:
        self.handlers.append(handler)


def test_stages_that_run_are_counted_and_those_that_ended_meanwhile_are_not() -> None:
    stages = {1: SimpleNamespace(numCompletedTasks=2, numTasks=5), 4: SimpleNamespace(numCompletedTasks=0, numTasks=3)}
    tracker = SimpleNamespace(getActiveStageIds=lambda: [1, 2, 4], getStageInfo=stages.get)
    session = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))
    assert str(running_tasks(session)()) == "2 of 8 tasks done"


def test_a_server_tells_of_several_operations() -> None:
    session = RemoteSession()
    now = running_tasks(session)
    (told,) = session.handlers
    assert (now(), str(now())) == (RunningTasks(), "")
    told(stages=[stage(4, 4, done=True), stage(1, 6)], inflight_tasks=2, operation_id="a", done=False)
    told(stages=[stage(0, 3)], inflight_tasks=1, operation_id="b", done=False)
    assert now() == RunningTasks(1, 9)
    told(stages=[], inflight_tasks=0, operation_id="a", done=True)
    assert now() == RunningTasks(0, 3)
    told(stages=None, inflight_tasks=0, operation_id="b", done=True)
    assert now() == RunningTasks()


def test_the_end_of_an_operation_that_nothing_was_told_of() -> None:
    told = ToldTasks()
    told(stages=None, inflight_tasks=0, operation_id=None, done=True)
    assert told.now() == RunningTasks()

"""Progress of a job."""

import threading

import pytest

from bookkeeper_tx.spark.jobs.running_tasks import RunningTasks
from bookkeeper_tx.spark.jobs.steps import Progress


class Clock:
    """A clock that the test moves."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_step_says_when_it_begins_and_how_long_it_took() -> None:
    lines: list[str] = []
    clock = Clock()
    progress = Progress(lines.append, clock)
    clock.now_s += 1.5
    with progress.step("reading"):
        clock.now_s += 2
    assert lines == ["[    1.5 s] reading", "[    3.5 s] reading: done in 2.0 s"]


def test_a_step_that_fails_is_not_done() -> None:
    lines: list[str] = []
    with pytest.raises(ValueError, match="broken"), Progress(lines.append, Clock()).step("reading"):
        raise ValueError("broken")
    assert lines == ["[    0.0 s] reading"]


def test_a_long_step_says_that_it_goes_on() -> None:
    lines: list[str] = []
    again = threading.Event()

    def say(line: str) -> None:
        lines.append(line)
        if "so far" in line:
            again.set()

    with Progress(say, Clock(), interval_s=0).step("reading"):
        assert again.wait(30)
    assert lines[1] == "[    0.0 s] reading: for 0 s so far"


def test_a_long_step_says_how_many_tasks_are_done() -> None:
    lines: list[str] = []
    again = threading.Event()

    def say(line: str) -> None:
        lines.append(line)
        if "tasks" in line:
            again.set()

    progress = Progress(say, Clock(), interval_s=0)
    progress.watch(lambda: RunningTasks(3, 4000))
    with progress.step("reading"):
        assert again.wait(30)
    assert lines[1] == "[    0.0 s] reading: for 0 s so far, 3 of 4,000 tasks done"

"""Progress of a job, as lines on standard error: which step began, how far it is, and how long it took."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from bookkeeper_tx.spark.jobs.running_tasks import RunningTasks

INTERVAL_S = 30.0
"""How often a step that takes long says that it is going on."""


def _to_stderr(line: str) -> None:
    click.echo(line, err=True)


class Progress:
    """Says what is being done; each line begins with the seconds since the job began."""

    def __init__(
        self,
        say: Callable[[str], None] = _to_stderr,
        clock: Callable[[], float] = time.monotonic,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._say = say
        self._clock = clock
        self._start_s = clock()
        self._interval_s = interval_s
        self._tasks: Callable[[], RunningTasks] = RunningTasks

    def watch(self, tasks: Callable[[], RunningTasks]) -> None:
        """Have steps that take long say how many of these tasks are done."""
        self._tasks = tasks

    def say(self, text: str) -> None:
        """Give one line."""
        self._say(f"[{self._clock() - self._start_s:7.1f} s] {text}")

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Say that something begins, every :data:`INTERVAL_S` that it goes on, and how long it took."""
        began_s = self._clock()
        self.say(text)
        ended = threading.Event()
        thread = threading.Thread(target=self._go_on, args=(text, began_s, ended), name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
        self.say(f"{text}: done in {self._clock() - began_s:.1f} s")

    def _go_on(self, text: str, began_s: float, ended: threading.Event) -> None:
        while not ended.wait(self._interval_s):
            tasks = self._tasks()
            done = f", {tasks} done" if tasks.all else ""
            self.say(f"{text}: for {self._clock() - began_s:.0f} s so far{done}")

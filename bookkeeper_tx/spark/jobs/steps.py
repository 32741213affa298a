"""Progress of a job, as lines on standard error: the start of each step, its progress, and its duration."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

INTERVAL_S = 30.0
"""The interval between the lines of a long step."""

JOIN_S = 5.0
"""How long the end of a step waits for a line that is being made; a JVM that hangs may delay it."""


def _to_stderr(line: str) -> None:
    click.echo(line, err=True)


class Progress:
    """Prints the steps of a job; each line begins with the seconds since the job began."""

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
        self._how_far: Callable[[], object] = str

    def watch(self, how_far: Callable[[], object]) -> None:
        """Print the result of ``how_far`` in the lines of long steps, unless it is empty; any thread may call it."""
        self._how_far = how_far

    def say(self, text: str) -> None:
        """Give one line."""
        self._say(f"[{self._clock() - self._start_s:7.1f} s] {text}")

    @contextmanager
    def step(self, text: str, how_far: object = None) -> Iterator[None]:
        """Print a line at the start of a step, one every :data:`INTERVAL_S`, and one with its duration at the end.

        The text of ``how_far`` replaces that of the watched function.
        """
        began_s = self._clock()
        self.say(text)
        ended = threading.Event()
        look = self._how_far if how_far is None else lambda: how_far
        arguments = (text, began_s, ended, look)
        thread = threading.Thread(target=self._go_on, args=arguments, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join(JOIN_S)
        self.say(f"{text}: done in {self._clock() - began_s:.1f} s")

    def _go_on(self, text: str, began_s: float, ended: threading.Event, look: Callable[[], object]) -> None:
        while not ended.wait(self._interval_s):
            line = f"{text}: for {self._clock() - began_s:.0f} s so far"
            far = _said_by(look)
            if not ended.is_set():
                self.say(f"{line}, {far}" if far else line)


def _said_by(look: Callable[[], object]) -> str:
    try:
        return str(look())
    except Exception:  # the driver's JVM may be gone: the step itself fails then, and says so
        return ""

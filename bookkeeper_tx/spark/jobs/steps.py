"""Progress of a job, as lines on standard error: which step began, how far it is, and how long it took."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

INTERVAL_S = 30.0
"""How often a step that takes long says that it is going on."""

JOIN_S = 5.0
"""How long the end of a step waits for a line that is being made, which a JVM that hangs may hold up."""


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
        self._how_far: Callable[[], object] = str

    def watch(self, how_far: Callable[[], object]) -> None:
        """Have steps that take long say what ``how_far`` returns, if that has a text; any thread may call it."""
        self._how_far = how_far

    def say(self, text: str) -> None:
        """Give one line."""
        self._say(f"[{self._clock() - self._start_s:7.1f} s] {text}")

    @contextmanager
    def step(self, text: str, how_far: object = None) -> Iterator[None]:
        """Say that something begins, every :data:`INTERVAL_S` that it goes on, and how long it took.

        The text of ``how_far`` is said in place of what is watched.
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
    except Exception:  # the driver's JVM may be gone: the step itself fails of that, and says so
        return ""

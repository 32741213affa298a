"""Virtual time: what is to happen, in its order."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any


class Timeline:
    """Calls what is due, one after the other; the time in between passes at once."""

    def __init__(self) -> None:
        self.now = 0.0
        """Seconds since the simulation began."""
        self.steps = 0
        self._due: list[tuple[float, int, Callable[..., object], tuple[Any, ...]]] = []
        self._numbers = count()

    def at(self, time: float, call: Callable[..., object], *arguments: Any) -> None:
        """Call ``call(*arguments)`` at ``time``, after what was to happen then before."""
        now = self.now  # without max(): this is done for all that happens
        heappush(self._due, (time if time > now else now, next(self._numbers), call, arguments))

    def after(self, delay_s: float, call: Callable[..., object], *arguments: Any) -> None:
        """Call ``call(*arguments)`` in ``delay_s`` seconds."""
        self.at(self.now + delay_s, call, *arguments)

    def run(self, end: float, until: Callable[[], bool] = lambda: False) -> None:
        """Let time pass up to ``end``, or until ``until()``."""
        due = self._due
        while due and due[0][0] <= end and not until():
            self.now, _, call, arguments = heappop(due)
            self.steps += 1
            call(*arguments)
        if not until():
            self.now = max(self.now, end)

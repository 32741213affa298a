"""The time between two passes of a check: longer and longer while nothing comes of them."""

from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall

INTERVAL_S: Final = 3.0
"""Seconds between two passes at first, as always with Java's ``DataIntegrityService``, and after one of use."""

INTERVAL_S_MAX: Final = 600.0
"""Seconds between two passes at most: each asks the other bookies for all that is missing."""


class BackOff:
    """Waits between passes, twice as long each time; ``clock`` measures."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self._next_s = INTERVAL_S
        self._timer: IDelayedCall | None = None

    def reset(self) -> None:
        """Let the next pass come soon, since it may bring something; end a wait that is under way soon."""
        self._next_s = INTERVAL_S
        timer = self._timer
        if timer is not None and timer.getTime() > self._clock.seconds() + INTERVAL_S:
            timer.reset(INTERVAL_S)

    def wait(self) -> Deferred[None]:
        """Fire when it is time for the next pass; it can be cancelled."""
        waiting: Deferred[None] = Deferred(lambda _: self._end())
        delay_s, self._next_s = self._next_s, min(2 * self._next_s, INTERVAL_S_MAX)
        self._timer = self._clock.callLater(delay_s, self._over, waiting)
        return waiting

    def _over(self, waiting: Deferred[None]) -> None:
        self._timer = None
        waiting.callback(None)

    def _end(self) -> None:
        assert self._timer is not None
        self._timer.cancel()
        self._timer = None

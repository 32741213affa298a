"""A limit to how much is done in a second."""

from typing import Final

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime

DELAY_S_MIN: Final = 0.001
"""Shorter delays are made up for later: a timer takes longer than that."""


class Stopped(Exception):
    """The bookie stops, and so does what keeps to a pace."""


class Pace:
    """Makes whoever does something wait, so that on average it is done ``per_second`` times a second.

    One caller waits at a time.  ``stop`` ends a wait, and lets every later one fail, with :exc:`Stopped`.
    """

    def __init__(self, clock: IReactorTime, per_second: float) -> None:
        self._clock = clock
        self.per_second = per_second
        self._free_at_s = 0.0
        self._waiting: tuple[IDelayedCall, Deferred[None]] | None = None
        self._stopped = False

    def spend(self, count: float) -> Deferred[None]:
        """Fire when as much time has passed as ``count`` more take, which were just done."""
        now_s = self._clock.seconds()
        self._free_at_s = max(self._free_at_s, now_s) + count / self.per_second
        if self._stopped:
            return _stopped()
        delay_s = self._free_at_s - now_s
        if delay_s < DELAY_S_MIN:
            return succeed(None)
        waiting: Deferred[None] = Deferred()
        self._waiting = self._clock.callLater(delay_s, self._go_on), waiting
        return waiting

    def stop(self) -> None:
        self._stopped = True
        if self._waiting is not None:
            (timer, waiting), self._waiting = self._waiting, None
            timer.cancel()
            waiting.errback(Stopped())

    def _go_on(self) -> None:
        assert self._waiting is not None
        (_, waiting), self._waiting = self._waiting, None
        waiting.callback(None)


def _stopped() -> Deferred[None]:
    ended: Deferred[None] = Deferred()
    ended.errback(Stopped())
    return ended

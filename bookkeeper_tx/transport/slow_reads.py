"""The reads of one connection that wait longer than usual: another replica may be asked meanwhile."""

from functools import partial
from math import inf
from typing import Any

from bookkeeper_tx.driver import Clock, Driver, Timer
from bookkeeper_tx.protocol.client.connection import ClientConnection
from bookkeeper_tx.protocol.client.slow_requests import tell_slow
from bookkeeper_tx.transport.pace import Pace
from bookkeeper_tx.transport.progress import Progress

AGAIN_S = 0.01
"""Shortest time between two looks …"""

OFTEN_S = 0.1
"""… and the longest: the pace of the bookie may have become faster meanwhile."""


def tell(driver: Driver, done: Any) -> Any:
    """Tell the owner of ``done``, as :func:`tell_slow` does; a mistake of theirs is reported."""
    try:
        return tell_slow(done)
    except Exception:
        # One caller's mistake must not keep the others from knowing.
        driver.report("a read was not told that it is slow")
        return done


class SlowReads:
    """Finds the reads for which nothing goes on for as long as their bookie's pace says, and tells each once.

    A read that is told goes on waiting.  Nothing is done for a read that is answered in time: the table of
    ``connection`` has the oldest first, and is looked at when that one may be slow.
    """

    def __init__(self, driver: Driver, connection: ClientConnection, pace: Pace, timeout_s: float) -> None:
        self._driver = driver
        self._clock: Clock = driver.clock
        self._connection = connection
        self._pace = pace
        self._timeout_s = timeout_s
        self._flow = Progress(pace.speculation_s)
        self._look_call: Timer | None = None
        self.watching = False
        """Whether a look is due: it finds the reads, too, that are made until then."""
        self.away_s = 0.0
        """The time in which the program did not look at its connections; deadlines are made without it."""

    def watch(self) -> None:
        """Arrange for a look, if a read waits."""
        if self._connection.reading and self._pace.speculation_s < inf:
            self._look_in(self._pace.speculation_s)

    def received(self, now: float) -> None:
        """Take note of the bytes that the connection has received at ``now``, in the time of deadlines."""
        answered = self._connection.read_answered
        if answered is not None:
            self._pace.took(now - answered + self._timeout_s)
            self._flow.received(now, answered)
        elif self._connection.answered is None:
            self._flow.received(now, None)
        else:
            # What came was the answer to an add, and says nothing of reads.
            self._flow.received(now, inf)

    def stop(self) -> None:
        """Look no more."""
        if self._look_call is not None:
            self._look_call.cancel()
            self._look_call = None

    def _look_in(self, delay_s: float) -> None:
        self.watching = True
        self._look_call = self._clock.callLater(min(max(delay_s, AGAIN_S), OFTEN_S), self._look)

    def _look(self) -> None:
        # The reactor looks at the sockets next, and the answers may be there already.
        self._look_call = self._clock.callLater(0, self._tell)

    def _tell(self) -> None:
        self._look_call = None
        pace_s = self._flow.patience_s = self._pace.speculation_s
        # A read is slow so long before its deadline.
        left_s = self._timeout_s - pace_s
        now = self._clock.seconds() - self.away_s
        untold = self._connection.tell_slow(self._flow.overdue(now, left_s), partial(tell, self._driver))
        self.watching = untold < inf
        if self.watching:
            due_s = untold - left_s - now
            self._look_in(due_s if due_s > 0 else pace_s / 16)

"""Keep the timers of a reactor from hanging on the time of day."""

import time
from typing import Any


def make_monotonic(reactor: Any) -> None:
    """Have the timers of a reactor, of which nothing is scheduled yet, hang on a clock that nobody sets.

    Twisted's is the time of day: set back by an hour, it delays every timer and time-out by an hour.  This is for
    programs that have the reactor for themselves.
    """
    reactor.seconds = time.monotonic

"""How often a store is looked at for changes of other processes: often while there are any, seldom after a while."""

from collections.abc import Callable
from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime

INTERVAL_S: Final = 0.2
"""Seconds from one look to the next: the longest delay before a watcher is called, as long as there are changes."""

QUIET_INTERVAL_S: Final = 1.0
"""The same once nothing has changed for a while.  A look takes two changes of the thread, nearly a millisecond of CPU
where a machine has many clients."""

QUIET_LOOKS: Final = 25
"""After so many looks in a row that found no change it is quiet."""


class Polling:
    """Calls ``look`` again and again."""

    def __init__(self, clock: IReactorTime, look: Callable[[], object]) -> None:
        self._clock = clock
        self._look = look
        self._next: IDelayedCall | None = None
        self._quiet_looks = 0

    def start(self) -> None:
        """Look in :data:`INTERVAL_S` at the latest, and often for a while; to be called after each new watch, too."""
        self._hurry()
        if self._next is None:
            self._next = self._clock.callLater(INTERVAL_S, self._due)

    def found(self, changed: bool) -> None:
        """Take what a look has found: whether anything has ``changed``."""
        if changed:
            self._hurry()
        else:
            self._quiet_looks += 1

    def stop(self) -> None:
        """Look no more."""
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _hurry(self) -> None:
        if self._quiet_looks >= QUIET_LOOKS and self._next is not None:
            self._next.reset(INTERVAL_S)
        self._quiet_looks = 0

    def _due(self) -> None:
        interval_s = INTERVAL_S if self._quiet_looks < QUIET_LOOKS else QUIET_INTERVAL_S
        self._next = self._clock.callLater(interval_s, self._due)
        self._look()

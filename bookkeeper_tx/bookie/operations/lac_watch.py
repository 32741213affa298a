"""Who waits for the last add confirmed of which ledger (docs/protocol/long-poll.md).

A wait ends when the last add confirmed passes the one that is given, when the ledger is fenced, when an explicit last
add confirmed comes, and when its time is over.  A ledger that was fenced before lets wait: recovering clients still
add to it.
"""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.protocol.bookie.requests import Continuation

MILLISECONDS_PER_SECOND = 1000

Then: TypeAlias = Callable[[int | None], None]
"""Called when a wait has ended, with when the last add confirmed had passed (ms since the epoch) or None."""


class _Wait:
    """One poll that waits."""

    __slots__ = ("connection", "ledger_id", "previous", "then", "timer")

    def __init__(self, ledger_id: int, previous: int, connection: Connection, then: Then) -> None:
        self.ledger_id = ledger_id
        self.previous = previous
        self.connection = connection
        self.then = then
        self.timer: IDelayedCall | None = None


class LacWatch:
    """Who waits for the last add confirmed of which ledger.

    ``timeout_max_s`` bounds each wait, ``per_connection_max`` how many one client has; ``clock`` gives the time since
    the epoch.
    """

    def __init__(self, clock: IReactorTime, timeout_max_s: float, per_connection_max: int) -> None:
        self._clock = clock
        self._timeout_max_s = timeout_max_s
        self._per_connection_max = per_connection_max
        self.ledgers: dict[int, set[_Wait]] = {}
        """The waits for each ledger that has any: adds look here, and go on if their ledger is not in it."""
        self._connections: dict[Connection, set[_Wait]] = {}

    @property
    def count(self) -> int:
        """How many wait."""
        return sum(map(len, self.ledgers.values()))

    def wait(self, ledger_id: int, previous: int, timeout_ms: int, connection: Connection, then: Then) -> bool:
        """Call ``then`` when the wait is over, unless the client goes before; returns False if it has too many."""
        waits = self._connections.get(connection)
        if waits is None:
            waits = self._connections[connection] = set()
            connection.call_when_lost(partial(self._forget, connection))
            if connection not in self._connections:
                return True  # it has gone, and nobody waits
        if len(waits) >= self._per_connection_max:
            return False
        wait = _Wait(ledger_id, previous, connection, then)
        seconds = min(timeout_ms / MILLISECONDS_PER_SECOND, self._timeout_max_s)
        wait.timer = self._clock.callLater(seconds, self._end, wait, None)
        waits.add(wait)
        self.ledgers.setdefault(ledger_id, set()).add(wait)
        return True

    def advanced(self, ledger: Ledger) -> None:
        """End the waits for a last add confirmed that this ledger has passed."""
        passed = [wait for wait in self.ledgers[ledger.ledger_id] if ledger.last_add_confirmed > wait.previous]
        for wait in passed:
            self._end(wait, round(self._clock.seconds() * MILLISECONDS_PER_SECOND))

    def roused(self, ledger: Ledger) -> None:
        """End all waits for this ledger: it was fenced, or an explicit last add confirmed has come."""
        if ledger.ledger_id in self.ledgers:
            self.advanced(ledger)
            for wait in list(self.ledgers.get(ledger.ledger_id, ())):
                self._end(wait, None)

    def _end(self, wait: _Wait, updated_at_ms: int | None) -> None:
        if not self._take_out(wait):
            return
        self._connections[wait.connection].discard(wait)
        # When the client takes its replies: what its polls bring may be thousands of times their own size.
        wait.connection.serve_next(Continuation(partial(wait.then, updated_at_ms)))

    def _forget(self, connection: Connection) -> None:
        for wait in self._connections.pop(connection):
            self._take_out(wait)

    def _take_out(self, wait: _Wait) -> bool:
        """Note that ``wait`` is over; returns False if it was."""
        waits = self.ledgers.get(wait.ledger_id)
        if waits is None or wait not in waits:
            return False
        assert wait.timer is not None
        if wait.timer.active():
            wait.timer.cancel()
        waits.discard(wait)
        if not waits:
            del self.ledgers[wait.ledger_id]
        return True

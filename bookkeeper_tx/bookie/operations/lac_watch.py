"""The long polls that wait for the last add confirmed of a ledger (docs/protocol/long-poll.md).

A wait ends when the last add confirmed passes the one that is given, when the ledger is fenced, and when its time is
over; nothing else ends it.  A poll of a ledger that was fenced before waits as well: recovering clients still add to
it.
"""

import itertools
import time
from bisect import bisect_left, insort
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import TypeAlias

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.protocol.bookie.requests import Continuation

MILLISECONDS_PER_SECOND = 1000

Then: TypeAlias = Callable[[int | None], None]
"""Called when a wait has ended, with the time when the last add confirmed passed (ms since the epoch) or None."""


class _Wait:
    """One poll that waits."""

    __slots__ = ("connection", "key", "ledger_id", "then", "timer")

    def __init__(self, ledger_id: int, key: tuple[int, int], connection: Connection, then: Then) -> None:
        self.ledger_id = ledger_id
        self.key = key
        """The last add confirmed that has to be passed, and a number of its own."""
        self.connection = connection
        self.then = then
        self.timer: IDelayedCall | None = None


_key = attrgetter("key")


class LacWatch:
    """The long polls that wait, by ledger.

    ``timeout_max_s`` bounds each wait, ``per_connection_max`` how many one client has, ``total_max`` how many all have;
    ``epoch_s`` gives the time since the epoch, which is told with a last add confirmed; ``clock`` only makes waits end.
    """

    def __init__(
        self,
        clock: IReactorTime,
        timeout_max_s: float,
        per_connection_max: int,
        total_max: int,
        epoch_s: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._epoch_s = epoch_s
        self._timeout_max_s = timeout_max_s
        self._per_connection_max = per_connection_max
        self._total_max = total_max
        self.count = 0
        """The number of polls that wait."""
        self._numbers = itertools.count()
        self.ledgers: dict[int, list[_Wait]] = {}
        """The waits for each ledger that has any, in the order in which a rising last add confirmed ends them.  An add
        or an explicit last add confirmed whose ledger is not here has nothing to do."""
        self._connections: dict[Connection, set[_Wait]] = {}

    def wait(self, ledger_id: int, previous: int, timeout_ms: int, connection: Connection, then: Then) -> bool:
        """Call ``then`` when the wait is over, unless the client goes before; returns False if there are too many."""
        waits = self._connections.get(connection)
        if waits is None:
            waits = self._connections[connection] = set()
            connection.call_when_lost(partial(self._forget, connection))
            if connection not in self._connections:
                return True  # it has gone, and nobody waits
        if len(waits) >= self._per_connection_max or self.count >= self._total_max:
            return False
        self.count += 1
        wait = _Wait(ledger_id, (previous, next(self._numbers)), connection, then)
        seconds = min(timeout_ms / MILLISECONDS_PER_SECOND, self._timeout_max_s)
        wait.timer = self._clock.callLater(seconds, self._overdue, wait)
        waits.add(wait)
        insort(self.ledgers.setdefault(ledger_id, []), wait, key=_key)
        return True

    def advanced(self, ledger: Ledger) -> None:
        """End the waits for a last add confirmed that this ledger has passed.

        The others cost nothing: the writer would pay for all readers that wait.
        """
        waits = self.ledgers[ledger.ledger_id]
        passed = bisect_left(waits, (ledger.last_add_confirmed,), key=_key)
        if passed:
            self._end_first(ledger.ledger_id, passed, round(self._epoch_s() * MILLISECONDS_PER_SECOND))

    def fenced(self, ledger: Ledger) -> None:
        """End all waits for this ledger, which was fenced."""
        if ledger.ledger_id in self.ledgers:
            self.advanced(ledger)
        waits = self.ledgers.get(ledger.ledger_id)
        if waits:
            self._end_first(ledger.ledger_id, len(waits), None)

    def _end_first(self, ledger_id: int, number: int, updated_at_ms: int | None) -> None:
        """End the first ``number`` waits for a ledger."""
        waits = self.ledgers[ledger_id]
        ended = waits[:number]
        del waits[:number]
        if not waits:
            del self.ledgers[ledger_id]
        for wait in ended:
            self._stop(wait)
        for wait in ended:
            _go_on(wait, updated_at_ms)

    def _overdue(self, wait: _Wait) -> None:
        self._take_out(wait)
        _go_on(wait, None)

    def _forget(self, connection: Connection) -> None:
        for wait in list(self._connections[connection]):
            self._take_out(wait)
        del self._connections[connection]

    def _take_out(self, wait: _Wait) -> None:
        waits = self.ledgers[wait.ledger_id]
        del waits[bisect_left(waits, wait.key, key=_key)]
        if not waits:
            del self.ledgers[wait.ledger_id]
        self._stop(wait)

    def _stop(self, wait: _Wait) -> None:
        self.count -= 1
        assert wait.timer is not None
        if wait.timer.active():
            wait.timer.cancel()
        self._connections[wait.connection].discard(wait)


def _go_on(wait: _Wait, updated_at_ms: int | None) -> None:
    # When the client takes its replies: they may be thousands of times as large as its polls.
    wait.connection.serve_next(Continuation(partial(wait.then, updated_at_ms)))

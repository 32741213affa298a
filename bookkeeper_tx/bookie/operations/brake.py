"""Holding back the requests that would wait for the disks, while too much waits for them already.

Only these requests are held back: adds while the journal's queue or the write cache is full, fences and explicit last
adds confirmed while the journal's queue is full.  All other requests of a client are served meanwhile, also those that
came after a held one: replies may come in any order (docs/protocol/framing.md), and held requests are not
acknowledged.  Requests of one brake and one client stay in their order.

Held requests are served when the load is lower.  It can only get lower when a group of the journal is done, when the
write cache has drained, or when flushes begin to fail or succeed again; so :meth:`Brake.look_again` is called then.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from twisted.logger import Logger

from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.protocol.bookie.requests import Continuation

WAITER_BYTES: Final = 1024
"""Memory of a request that waits, besides its entries: objects of its connection, its operation and its ledger."""

log = Logger()


class Journal(Protocol):
    """The part of the journal that is looked at."""

    @property
    def queued_bytes(self) -> int: ...

    @property
    def queued_count(self) -> int: ...


class Load:
    """How much waits for the disks; ``queued_bytes_max`` is the bound on the requests that wait for the journal."""

    def __init__(self, journal: Journal, queued_bytes_max: int, storage_full: Callable[[], bool]) -> None:
        self._journal = journal
        self.queued_bytes_max = queued_bytes_max
        self._storage_full = storage_full

    @property
    def queued_bytes(self) -> int:
        """Bytes that wait for the journal."""
        return self._journal.queued_bytes + WAITER_BYTES * self._journal.queued_count

    def of_journal(self, braking: bool) -> bool:
        """Tell whether too much waits for the journal; while ``braking``, half as much is too much."""
        return self.queued_bytes > (self.queued_bytes_max // 2 if braking else self.queued_bytes_max)

    def of_disks(self, braking: bool) -> bool:
        """Tell whether too much waits for the journal, or the write cache is full."""
        return self._storage_full() or self.of_journal(braking)


class _Held:
    """The held requests of one client."""

    __slots__ = ("going_on", "not_reading", "requests", "size")

    def __init__(self) -> None:
        self.requests: deque[tuple[Callable[[], None], int]] = deque()
        self.size = 0
        self.going_on = False
        """Whether the client's connection was asked to serve the next of them."""
        self.not_reading = False
        """Whether reading from this client has stopped, because it has as much as it may have."""


class Brake:
    """Holds requests back while ``overloaded``.

    A client of which ``client_bytes_max`` bytes are held is not read from until half of them are served; once
    ``total_bytes_max`` bytes of all clients are held, this is so for every client of which anything is held.
    """

    def __init__(self, overloaded: Callable[[bool], bool], client_bytes_max: int, total_bytes_max: int) -> None:
        self._overloaded = overloaded
        self._client_bytes_max = client_bytes_max
        self.total_bytes_max = total_bytes_max
        self._braking = False
        self._known: set[Connection] = set()
        """The clients whose loss is noticed."""
        self._held: OrderedDict[Connection, _Held] = OrderedDict()
        """The clients of which requests are held; those whose turn is next come first."""
        self.held_bytes = 0
        """Bytes of the held requests of all clients."""

    @property
    def held_count(self) -> int:
        """How many they are."""
        return sum(len(held.requests) for held in self._held.values())

    def holds(self, connection: Connection) -> bool:
        """Tell whether the next request of this client is to be held."""
        if not self._braking:
            if not self._overloaded(False):
                return bool(self._held) and connection in self._held
            self._braking = True
            log.debug("holding requests back until the disks catch up")
        return True

    def hold(self, connection: Connection, size: int, serve: Callable[[], None]) -> None:
        """Keep a request of ``size`` bytes; ``serve()`` is called when its turn has come."""
        held = self._held.get(connection)
        if held is None:
            if connection not in self._known:
                self._known.add(connection)
                connection.call_when_lost(partial(self._forget, connection))
            if connection not in self._known:
                return  # the client has gone
            held = self._held[connection] = _Held()
        size += WAITER_BYTES
        held.requests.append((serve, size))
        held.size += size
        self.held_bytes += size
        if not held.not_reading and (held.size >= self._client_bytes_max or self.held_bytes >= self.total_bytes_max):
            held.not_reading = True
            connection.stop_reading()

    def look_again(self) -> None:
        """Serve the held requests if the load is low enough; called whenever it may have become lower."""
        if self._braking and not self._overloaded(True):
            self._braking = False
            log.debug("serving all requests again")
        for connection in () if self._braking else list(self._held):
            self._go_on(connection)

    def _go_on(self, connection: Connection) -> None:
        held = self._held.get(connection)
        if held is not None and not held.going_on:
            held.going_on = True
            # When the client takes its replies, so that nothing is served that it does not want to hear of.
            connection.serve_next(Continuation(partial(self._serve_next, connection, held)))

    def _serve_next(self, connection: Connection, held: _Held) -> None:
        held.going_on = False
        if self._braking or self._overloaded(False):
            self._braking = True
            return
        if self._held.get(connection) is not held:
            return
        serve, size = held.requests.popleft()
        held.size -= size
        self.held_bytes -= size
        if held.requests:
            self._held.move_to_end(connection)  # next time the other clients come first
        else:
            del self._held[connection]
        serve()
        if held.requests:
            self._go_on(connection)
        if held.not_reading and held.size <= self._client_bytes_max // 2:
            held.not_reading = False
            connection.read_on()

    def _forget(self, connection: Connection) -> None:
        self._known.discard(connection)
        held = self._held.pop(connection, None)
        if held is not None:
            self.held_bytes -= held.size

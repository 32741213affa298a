"""Finding stored entries: at once from memory, from the entry logs through a bounded queue."""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BookKeeperError, status_of
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status

Found: TypeAlias = Callable[[EntryRun | Status], None]

LOADS_PER_CONNECTION_MAX = 16
"""Reads of one client that are on the disk, or that the client does not take; its next ones wait for them."""

WAITING_PER_CONNECTION_MAX = 64
"""Reads of one client that wait for those; then its next requests, of every kind, wait in its socket."""

LOADS_MAX = 16_384
"""Reads of all clients that may wait, for the disk or for other reads; more are answered ETOOMANYREQUESTS."""

RUN_BYTES_FIRST = 1024 * 1024
"""As large a run is expected from the first load of a client; later each is expected to be like the one before."""

LOAD_BYTES = 1024
"""Memory of a read that waits, besides entries: its request, its objects, and its ledger."""

log = Logger()


class _Load:
    """A request that waits: to load a run, for the run, or with the run until its client takes replies."""

    __slots__ = ("client_bytes", "connection", "entry_id", "found", "held_bytes", "ledger_id")

    def __init__(self, ledger_id: int, entry_id: int, connection: Connection, found: Found, collected: int) -> None:
        self.ledger_id = ledger_id
        self.entry_id = entry_id
        self.connection = connection
        self.found = found
        self.held_bytes = collected + LOAD_BYTES
        """Bytes that the request has."""
        self.client_bytes = 0
        """Bytes that it has and expects, once it loads."""


class _Client:
    """The loads of one client."""

    __slots__ = ("bytes", "count", "is_paused", "run_bytes", "waiting", "waiting_bytes")

    def __init__(self) -> None:
        self.count = 0
        """How many have begun and have not ended."""
        self.bytes = 0
        """Bytes that they have, and are expected to bring."""
        self.run_bytes = RUN_BYTES_FIRST
        """Bytes that the last of them has brought."""
        self.waiting: deque[_Load] = deque()
        """Those that have not begun."""
        self.waiting_bytes = 0
        self.is_paused = False


class StoredRuns:
    """Finds the run that holds an entry.

    The requests of one client that load may have ``client_bytes_max`` bytes of entries; its next reads wait for them,
    and if these are many, or have as much, all its next requests.  The requests of all clients may have ``bytes_max``:
    more are answered ETOOMANYREQUESTS.
    """

    def __init__(self, storage: AnyStorage, client_bytes_max: int, bytes_max: int) -> None:
        self._storage = storage
        self._client_bytes_max = client_bytes_max
        self.bytes_max = bytes_max
        self._clients: dict[Connection, _Client] = {}
        self._load_count = 0
        self.held_bytes = 0
        """Bytes that waiting requests have, most of them of entries."""

    @property
    def load_count(self) -> int:
        """Reads that are on the disk, or that wait for those."""
        return self._load_count

    @property
    def waiting_count(self) -> int:
        """Reads that wait for others of their client."""
        return sum(len(client.waiting) for client in self._clients.values())

    def find(
        self, ledger_id: int, entry_id: int, connection: Connection, found: Found, collected: int = 0
    ) -> EntryRun | Status | None:
        """Return the run that holds an entry, or why it cannot be had; None if ``found`` will be called with it.

        ``collected`` are the bytes of entries that the request has already.
        """
        try:
            run = self._storage.cached_run(ledger_id, entry_id)
        except BookKeeperError as error:
            return status_of(error)
        if run is not None:
            return run
        if self._load_count >= LOADS_MAX or self.held_bytes + collected > self.bytes_max:
            return statuses.ETOOMANYREQUESTS
        load = _Load(ledger_id, entry_id, connection, found, collected)
        client = self._clients.get(connection)
        if client is not None and self._is_busy(client):
            self._wait(client, load)
            return None
        loading = self._storage.load_run(ledger_id, entry_id)
        if loading.called and not loading.paused:
            return _outcome(loading)
        self._load_count += 1
        self.held_bytes += load.held_bytes
        self._begin(client or self._new_client(connection), load, loading)
        return None

    def end_later(self, connection: Connection, size: int, end: Callable[[], None]) -> bool:
        """Call ``end``, which sends ``size`` bytes, when the client takes replies; return False if too much waits."""
        if self.held_bytes + size > self.bytes_max:
            return False
        self.held_bytes += size

        def end_and_count() -> None:
            self.held_bytes -= size
            end()

        connection.end_next(end_and_count)
        return True

    def _new_client(self, connection: Connection) -> _Client:
        client = self._clients[connection] = _Client()
        connection.call_when_lost(partial(self._forget, connection))
        return client

    def _forget(self, connection: Connection) -> None:
        client = self._clients.pop(connection)
        self._load_count -= len(client.waiting)
        self.held_bytes -= client.waiting_bytes

    def _is_busy(self, client: _Client) -> bool:
        return client.count >= LOADS_PER_CONNECTION_MAX or client.bytes >= self._client_bytes_max

    def _wait(self, client: _Client, load: _Load) -> None:
        self._load_count += 1
        self.held_bytes += load.held_bytes
        client.waiting.append(load)
        client.waiting_bytes += load.held_bytes
        self._look(client, load.connection)

    def _begin(self, client: _Client, load: _Load, loading: Deferred[EntryRun]) -> None:
        load.client_bytes = load.held_bytes + client.run_bytes
        client.count += 1
        client.bytes += load.client_bytes
        outcome = loading.addCallbacks(lambda run: run, _status_of_failure)
        outcome.addCallback(self._loaded, load)
        outcome.addErrback(lambda failure: log.failure("a read was not answered", failure))

    def _loaded(self, outcome: EntryRun | Status, load: _Load) -> None:
        self._load_count -= 1
        if isinstance(outcome, EntryRun):
            if self.held_bytes + outcome.size > self.bytes_max:
                outcome = statuses.ETOOMANYREQUESTS
            else:
                self._holds(load, outcome.size)
        # When the client takes its replies: otherwise they would gather uncounted.
        load.connection.end_next(partial(self._end, outcome, load))

    def _holds(self, load: _Load, size: int) -> None:
        """Count the run that a load has brought."""
        load.held_bytes += size
        self.held_bytes += size
        client = self._clients.get(load.connection)
        if client is not None:
            client.run_bytes = size
            client.bytes += load.held_bytes - load.client_bytes
            load.client_bytes = load.held_bytes

    def _end(self, outcome: EntryRun | Status, load: _Load) -> None:
        self.held_bytes -= load.held_bytes
        client = self._clients.get(load.connection)
        if client is None:
            return  # lost meanwhile
        client.count -= 1
        client.bytes -= load.client_bytes
        load.found(outcome)
        while client.waiting and not self._is_busy(client):
            self._begin_next(client)
        self._look(client, load.connection)

    def _begin_next(self, client: _Client) -> None:
        load = client.waiting.popleft()
        client.waiting_bytes -= load.held_bytes
        self._begin(client, load, self._storage.load_run(load.ledger_id, load.entry_id))

    def _look(self, client: _Client, connection: Connection) -> None:
        """Pause or resume a client of which more or fewer reads wait now."""
        too_much = len(client.waiting) >= WAITING_PER_CONNECTION_MAX or client.waiting_bytes >= self._client_bytes_max
        if too_much != client.is_paused:
            client.is_paused = too_much
            connection.pause() if too_much else connection.resume()


def _status_of_failure(failure: Failure) -> Status:
    assert failure.value is not None
    status = status_of(failure.value)
    if status is statuses.EIO:
        log.error("cannot read from ledger storage: {error}", error=failure.value)
    return status


def _outcome(loading: Deferred[EntryRun]) -> EntryRun | Status:
    """Return what ``loading`` has fired with."""
    outcomes: list[EntryRun | Status] = []
    loading.addErrback(_status_of_failure).addCallback(outcomes.append)
    return outcomes[0]

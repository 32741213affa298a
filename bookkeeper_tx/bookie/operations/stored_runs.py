"""Finding stored entries: at once from memory, from the entry logs through a bounded queue."""

from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BookKeeperError, status_of
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status

Found: TypeAlias = Callable[[EntryRun | Status], None]

LOADS_PER_CONNECTION_MAX = 16
"""Reads of one client that may wait for the disk; then its next requests wait in its socket."""

LOADS_MAX = 4096
"""Reads of all clients that may wait for the disk; more are answered ETOOMANYREQUESTS."""

log = Logger()


class StoredRuns:
    """Finds the run that holds an entry."""

    def __init__(self, storage: LedgerStorage) -> None:
        self._storage = storage
        self._loads: Counter[Connection] = Counter()
        self._load_count = 0

    def find(self, ledger_id: int, entry_id: int, connection: Connection, found: Found) -> EntryRun | Status | None:
        """Return the run that holds an entry, or why it cannot be had; None if ``found`` will be called with it."""
        try:
            run = self._storage.cached_run(ledger_id, entry_id)
        except BookKeeperError as error:
            return status_of(error)
        if run is not None:
            return run
        if self._load_count >= LOADS_MAX:
            return statuses.ETOOMANYREQUESTS
        loading = self._storage.load_run(ledger_id, entry_id)
        if loading.called and not loading.paused:
            return _outcome(loading)
        self._start(connection)
        loading.addCallbacks(lambda run: run, _status_of_failure)
        loading.addCallback(self._finish, connection, found)
        loading.addErrback(lambda failure: log.failure("a read was not answered", failure))
        return None

    def _start(self, connection: Connection) -> None:
        self._load_count += 1
        self._loads[connection] += 1
        if self._loads[connection] == LOADS_PER_CONNECTION_MAX:
            connection.pause()

    def _finish(self, outcome: EntryRun | Status, connection: Connection, found: Found) -> None:
        self._load_count -= 1
        self._loads[connection] -= 1
        if self._loads[connection] == LOADS_PER_CONNECTION_MAX - 1:
            connection.resume()
        if not self._loads[connection]:
            del self._loads[connection]
        found(outcome)


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

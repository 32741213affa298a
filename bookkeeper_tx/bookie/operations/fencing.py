"""Fencing: from here on a ledger takes the adds of recovering clients only (docs/protocol/fencing.md).

A fence is durable before the read that made it is answered, also if this bookie did not know the ledger.  A client that
recovers a ledger counts on every bookie that has answered, whatever the answer.
"""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from twisted.logger import Logger

from bookkeeper_tx.bookie.journal import records as journal_records
from bookkeeper_tx.bookie.journal.journals import AnyJournal
from bookkeeper_tx.bookie.operations.brake import Brake
from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.operations.lac_watch import LacWatch
from bookkeeper_tx.bookie.operations.ledger_keys import LedgerKeys
from bookkeeper_tx.bookie.storage.ledger import while_held
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.errors import BookKeeperError, status_of
from bookkeeper_tx.protocol.bookie.requests import Continuation
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status

Fenced = Callable[[Status], None]

FENCES_PER_CONNECTION_MAX: Final = 1000
"""Fences of one client that may wait for the journal; then its next requests wait in its socket."""

_Waiter: TypeAlias = tuple[Connection, Fenced]

log = Logger()


class Fencing:
    """Fences ledgers, durably; ``brake`` holds back those that have to be journaled while it has too much to write."""

    def __init__(
        self, storage: AnyStorage, journal: AnyJournal, keys: LedgerKeys, watch: LacWatch, brake: Brake
    ) -> None:
        self._storage = storage
        self._journal = journal
        self._keys = keys
        self._watch = watch
        self._brake = brake
        self._waiting: dict[int, list[_Waiter]] = {}
        """The reads that wait for the sync of a fence record, by ledger."""
        self._counts: Counter[Connection] = Counter()
        """The number of waiting reads, by client."""
        self._unrecorded: set[int] = set()
        """Fenced ledgers whose fence record could not be written."""

    def fence(self, ledger_id: int, master_key: bytes | None, connection: Connection, then: Fenced) -> None:
        """Fence a ledger, made if need be; calls ``then(EOK)`` when the fence is durable, ``then`` why not otherwise.

        The fence stops adds at once, also when its record could not be written.
        """
        if master_key is None:
            then(statuses.EUA)
        elif self._brake.holds(connection):
            self._hold(ledger_id, master_key, connection, then)
        else:
            self._fence(ledger_id, master_key, connection, then)

    def _hold(self, ledger_id: int, master_key: bytes, connection: Connection, then: Fenced) -> None:
        try:
            ledger = self._storage.ledger(ledger_id)
        except BookKeeperError as error:
            then(status_of(error))
            return
        fence = partial(self._fence, ledger_id, master_key, connection, then)
        self._brake.hold(connection, len(master_key), partial(while_held, ledger, fence))

    def _fence(self, ledger_id: int, master_key: bytes, connection: Connection, then: Fenced) -> None:
        try:
            ledger, records = self._keys.open(ledger_id, master_key)
            is_new = self._storage.fence(ledger)
        except BookKeeperError as error:
            then(status_of(error))
            return
        then = partial(while_held, ledger, then)
        if ledger_id in self._waiting:
            self._wait(ledger_id, connection, then)
        elif is_new or ledger_id in self._unrecorded:
            self._wait(ledger_id, connection, then)
            records.append(journal_records.fence_record(ledger_id))
            self._journal.append(records, partial(self._synced, ledger_id))
        else:
            then(statuses.EOK)
        if is_new:
            self._watch.fenced(ledger)  # last: what waited goes on at once, and must find the fence on its way

    def _wait(self, ledger_id: int, connection: Connection, then: Fenced) -> None:
        self._waiting.setdefault(ledger_id, []).append((connection, then))
        self._counts[connection] += 1
        if self._counts[connection] == FENCES_PER_CONNECTION_MAX:
            connection.pause()

    def _synced(self, ledger_id: int, error: BaseException | None) -> None:
        if error is None:
            self._unrecorded.discard(ledger_id)
            self._keys.recorded(ledger_id)
        else:
            self._unrecorded.add(ledger_id)
        status = statuses.EOK if error is None else statuses.EIO
        for connection, then in self._waiting.pop(ledger_id):
            try:
                self._answer(connection, partial(then, status))
            except Exception:
                log.failure("a client got no answer about a fence")

    def _answer(self, connection: Connection, then: Callable[[], None]) -> None:
        self._counts[connection] -= 1
        # When the client takes its replies: they may be thousands of times as large as the requests.
        connection.serve_next(Continuation(then))
        if self._counts[connection] == FENCES_PER_CONNECTION_MAX - 1:
            connection.resume()
        if not self._counts[connection]:
            del self._counts[connection]

"""Making durable what was acknowledged before its sync (docs/protocol/force-ledger.md).

The journal is synced in the order in which it was written, so what comes back from it last has all else before it on
the disk.  No ledger has to exist for that, and none is made.
"""

from functools import partial

from bookkeeper_tx.bookie.journal.journals import AnyJournal
from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.protocol.bookie.v3_force_ledger import ForceLedgerRequest
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status

FORCES_MAX = 10_000
"""Requests of all clients that may wait for the journal; more are answered ETOOMANYREQUESTS."""


class ForceLedger:
    """Serves requests to sync the adds of a ledger."""

    def __init__(self, journal: AnyJournal) -> None:
        self._journal = journal
        self._waiting = 0
        self._lost: set[int] = set()
        """Ledgers with adds that were acknowledged and could not be journaled then; until a restart."""

    def lost(self, ledger_id: int) -> None:
        """Note that an acknowledged add of this ledger is not in the journal: a force must not confirm it."""
        self._lost.add(ledger_id)

    def serve(self, request: ForceLedgerRequest, connection: Connection) -> None:
        """Reply when everything that was queued for the journal before is on the disk."""
        if self._waiting >= FORCES_MAX:
            _reply(request, connection, statuses.ETOOMANYREQUESTS)
            return
        self._waiting += 1
        self._journal.append([], partial(self._synced, request, connection))

    def _synced(self, request: ForceLedgerRequest, connection: Connection, error: BaseException | None) -> None:
        self._waiting -= 1
        failed = error is not None or request.ledger_id in self._lost
        _reply(request, connection, statuses.EIO if failed else statuses.EOK)


def _reply(request: ForceLedgerRequest, connection: Connection, status: Status) -> None:
    connection.reply(request, status, [request.reply(status)])

"""Long poll: a read that waits until more is confirmed (docs/protocol/long-poll.md).

After the wait its answer has the present state; the end of its time is no error.
"""

from functools import partial

from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.operations.lac_watch import LacWatch
from bookkeeper_tx.bookie.operations.read_entry import known_ledger, stored_id
from bookkeeper_tx.bookie.operations.stored_runs import StoredRuns
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.protocol.bookie.v3_long_poll import LongPollRequest
from protocol_specs import fields
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status


class LongPoll:
    """Serves long polls; beyond ``watch``'s bound on one client they are answered ETOOMANYREQUESTS."""

    def __init__(self, storage: AnyStorage, runs: StoredRuns, watch: LacWatch) -> None:
        self._storage = storage
        self._runs = runs
        self._watch = watch

    def serve(self, request: LongPollRequest, connection: Connection) -> None:
        """Answer ``request``: at once if there is something to tell, or if it does not want to wait."""
        ledger, status = known_ledger(self._storage, request.ledger_id)
        previous = request.previous_last_add_confirmed
        sensible = request.entry_id == fields.LAST_ENTRY and previous >= fields.NO_ENTRY
        if ledger is not None and request.piggyback and not sensible:
            status = statuses.EBADREQ
        elif ledger is not None and ledger.limbo:
            status = statuses.EUNKNOWNLEDGERSTATE  # a last add confirmed may have been lost that ends the wait
        if status is not statuses.EOK:
            _refuse(request, connection, status)
            return
        assert ledger is not None
        answer = partial(self._answer, request, connection, ledger)
        if request.timeout_ms <= 0 or ledger.last_add_confirmed > previous:
            answer(None)
        elif not self._watch.wait(request.ledger_id, previous, request.timeout_ms, connection, answer):
            _refuse(request, connection, statuses.ETOOMANYREQUESTS)

    def _answer(
        self, request: LongPollRequest, connection: Connection, ledger: Ledger, updated_at_ms: int | None
    ) -> None:
        # The ledger that the wait has held: looked up again, it might have to be read from the disk.
        entry_id = _wanted(request, ledger)
        if isinstance(entry_id, Status):
            _reply(request, connection, ledger, fields.NO_ENTRY, None, entry_id)
            return
        # As in Java's `LongPollReadEntryProcessorV3`: only a piggyback gets the time of the update.
        told_ms = updated_at_ms if request.piggyback else None
        reply = partial(_reply, request, connection, ledger, entry_id, told_ms)
        found = self._runs.find(ledger.ledger_id, entry_id, connection, reply)
        if found is not None:
            reply(found)


def _wanted(request: LongPollRequest, ledger: Ledger) -> int | Status:
    """Return which entry the answer brings: for a piggyback the one after what the reader knows."""
    if not request.piggyback:
        return stored_id(request.entry_id, ledger)
    if ledger.last_entry_id == fields.NO_ENTRY:
        return statuses.ENOENTRY
    previous = request.previous_last_add_confirmed
    return previous + 1 if ledger.last_add_confirmed > previous else statuses.EOK


def _refuse(request: LongPollRequest, connection: Connection, status: Status) -> None:
    connection.reply(request, status, [request.reply(request.entry_id, status, fields.NO_ENTRY, None)])


def _reply(
    request: LongPollRequest,
    connection: Connection,
    ledger: Ledger,
    entry_id: int,
    updated_at_ms: int | None,
    found: EntryRun | Status,
) -> None:
    last_add_confirmed = ledger.last_add_confirmed
    if isinstance(found, EntryRun):
        echoed = entry_id if request.piggyback else request.entry_id
        status, reply = statuses.EOK, request.reply(echoed, found.entry(entry_id), last_add_confirmed, updated_at_ms)
    else:
        # An entry that is not here is on another bookie.
        elsewhere = request.piggyback and found is statuses.ENOENTRY and entry_id != fields.NO_ENTRY
        status = statuses.EOK if elsewhere else found
        reply = request.reply(request.entry_id, status, last_add_confirmed, updated_at_ms)
    connection.reply(request, status, [reply])

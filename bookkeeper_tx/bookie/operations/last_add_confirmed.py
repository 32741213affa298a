"""The explicit last add confirmed, and the read of both kinds of it (docs/protocol/last-add-confirmed.md)."""

from functools import partial

from bookkeeper_tx.bookie.availability import Availability
from bookkeeper_tx.bookie.journal import records as journal_records
from bookkeeper_tx.bookie.journal.journals import AnyJournal
from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.operations.lac_watch import LacWatch
from bookkeeper_tx.bookie.operations.ledger_keys import LedgerKeys
from bookkeeper_tx.bookie.operations.read_entry import known_ledger
from bookkeeper_tx.bookie.operations.stored_runs import StoredRuns
from bookkeeper_tx.bookie.storage import limits
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BookKeeperError, status_of
from bookkeeper_tx.protocol.bookie.v3_last_add_confirmed import ReadLacRequest, WriteLacRequest
from protocol_specs import fields
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status


class WriteLac:
    """Serves writes of the explicit last add confirmed; the body is kept as it came, whole."""

    def __init__(
        self,
        storage: AnyStorage,
        journal: AnyJournal,
        keys: LedgerKeys,
        availability: Availability,
        watch: LacWatch,
    ) -> None:
        self._storage = storage
        self._journal = journal
        self._keys = keys
        self._availability = availability
        self._watch = watch

    def serve(self, request: WriteLacRequest, connection: Connection) -> None:
        """Store the body; replies when it is durable, or at once when it is refused."""
        status = self._write(request, connection)
        if status is not statuses.EOK:
            connection.reply(request, status, [request.reply(status)])

    def _write(self, request: WriteLacRequest, connection: Connection) -> Status:
        if self._availability.read_only:
            return statuses.EREADONLY
        body, ledger_id = request.body, request.ledger_id
        if len(body) > limits.EXPLICIT_LAC_SIZE_MAX:
            return statuses.EBADREQ
        try:
            ledger, records = self._keys.open(ledger_id, request.master_key)
            self._storage.set_explicit_lac(ledger, body)
        except BookKeeperError as error:
            return status_of(error)
        records.append(journal_records.explicit_lac_record(ledger_id, body))
        self._journal.append(records, partial(self._synced, ledger_id, request, connection))
        if ledger_id in self._watch.ledgers:
            self._watch.advanced(ledger)
        return statuses.EOK

    def _synced(
        self, ledger_id: int, request: WriteLacRequest, connection: Connection, error: BaseException | None
    ) -> None:
        status = statuses.EIO
        if error is None:
            self._keys.recorded(ledger_id)
            status = statuses.EOK
        connection.reply(request, status, [request.reply(status)])


class ReadLac:
    """Serves reads of the explicit last add confirmed together with the last entry."""

    def __init__(self, storage: AnyStorage, runs: StoredRuns) -> None:
        self._storage = storage
        self._runs = runs

    def serve(self, request: ReadLacRequest, connection: Connection) -> None:
        """Reply with what there is."""
        ledger, status = known_ledger(self._storage, request.ledger_id)
        if ledger is None:
            _reply(request, connection, _without_entry(status, None), None, None)
            return
        if ledger.limbo:
            _reply(request, connection, statuses.EUNKNOWNLEDGERSTATE, None, None)
            return
        last = ledger.last_entry_id
        found: EntryRun | Status | None = statuses.ENOENTRY
        if last != fields.NO_ENTRY:
            found = self._runs.find(
                ledger.ledger_id, last, connection, partial(_reply_with, request, connection, ledger, last)
            )
        if found is not None:
            _reply_with(request, connection, ledger, last, found)


def _reply_with(
    request: ReadLacRequest, connection: Connection, ledger: Ledger, last: int, found: EntryRun | Status
) -> None:
    explicit_lac = ledger.explicit_lac
    if isinstance(found, Status):
        _reply(request, connection, _without_entry(found, explicit_lac), explicit_lac, None)
    else:
        _reply(request, connection, statuses.EOK, explicit_lac, found.entry(last))


def _reply(
    request: ReadLacRequest,
    connection: Connection,
    status: Status,
    explicit_lac: bytes | None,
    last_entry: bytes | None,
) -> None:
    connection.reply(request, status, [request.reply(status, explicit_lac, last_entry)])


def _without_entry(why: Status, explicit_lac: bytes | None) -> Status:
    """Return the status of a reply without last entry.

    As in Java's ``ReadLacProcessorV3``: no ledger counts as no entry, an explicit last add confirmed without an entry
    as an I/O error.  A failure of storage is an I/O error here, unlike there: something may be stored all the same.
    Nor is a ledger in limbo told to have no entry.
    """
    if explicit_lac is not None or why not in (statuses.ENOENTRY, statuses.ENOLEDGER):
        return statuses.EIO
    return statuses.ENOENTRY

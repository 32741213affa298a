"""Fencing: from here on a ledger takes the adds of recovering clients only (docs/protocol/fencing.md).

Nobody is told that a ledger is fenced before that is durable, for a ledger that this bookie had never heard of as for
any other: a client that recovers a ledger counts on every bookie that has answered, whatever the answer.
"""

from collections.abc import Callable
from functools import partial

from bookkeeper_tx.bookie.journal import records as journal_records
from bookkeeper_tx.bookie.journal.journal import Journal
from bookkeeper_tx.bookie.operations.lac_watch import LacWatch
from bookkeeper_tx.bookie.operations.ledger_keys import LedgerKeys
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.errors import BookKeeperError, status_of
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status

Fenced = Callable[[Status], None]


class Fencing:
    """Fences ledgers, durably."""

    def __init__(self, storage: LedgerStorage, journal: Journal, keys: LedgerKeys, watch: LacWatch) -> None:
        self._storage = storage
        self._journal = journal
        self._keys = keys
        self._watch = watch
        self._waiting: dict[int, list[Fenced]] = {}
        """Who waits for the sync of the fence record of a ledger."""
        self._unrecorded: set[int] = set()
        """Fenced ledgers whose fence record could not be written."""

    def fence(self, ledger_id: int, master_key: bytes | None, then: Fenced) -> None:
        """Fence a ledger, made if need be; calls ``then(EOK)`` when the fence is durable, ``then`` why not otherwise.

        The fence stops adds at once, also when its record could not be written.
        """
        if master_key is None:
            then(statuses.EUA)
            return
        try:
            ledger, records = self._keys.open(ledger_id, master_key)
            is_new = self._storage.fence(ledger)
        except BookKeeperError as error:
            then(status_of(error))
            return
        if ledger_id in self._waiting:
            self._waiting[ledger_id].append(then)
        elif is_new or ledger_id in self._unrecorded:
            self._waiting[ledger_id] = [then]
            records.append(journal_records.fence_record(ledger_id))
            self._journal.append(records, partial(self._synced, ledger_id))
        else:
            then(statuses.EOK)
        if is_new:
            self._watch.roused(ledger)  # last: what waited goes on at once, and must find the fence on its way

    def _synced(self, ledger_id: int, error: BaseException | None) -> None:
        if error is None:
            self._unrecorded.discard(ledger_id)
            self._keys.recorded(ledger_id)
        else:
            self._unrecorded.add(ledger_id)
        for then in self._waiting.pop(ledger_id):
            then(statuses.EOK if error is None else statuses.EIO)

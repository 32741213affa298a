"""Adding entries (docs/protocol/add-entry.md).

The reactor is one thread and nothing here waits between the look at the fence and the append to storage and journal,
so those are atomic: an entry is either before the fence in the journal, or refused.  Storage comes first so that an
entry can be read from the moment it is acknowledged; the acknowledgement waits for the journal's fdatasync, except for
adds with deferred sync, which FORCE_LEDGER makes durable.  With ``journalWriteData=false`` it waits for nothing: only
the key of a ledger is journaled, and entries are durable when the storage is flushed.
"""

from collections.abc import Sequence
from functools import partial

from bookkeeper_tx.bookie.availability import Availability
from bookkeeper_tx.bookie.disk import Buffer
from bookkeeper_tx.bookie.journal.journals import AnyJournal
from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.operations.counts import Counts
from bookkeeper_tx.bookie.operations.force_ledger import ForceLedger
from bookkeeper_tx.bookie.operations.lac_watch import LacWatch
from bookkeeper_tx.bookie.operations.ledger_keys import LedgerKeys
from bookkeeper_tx.bookie.storage import limits
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE
from bookkeeper_tx.errors import BookKeeperError, LedgerFenced, status_of
from bookkeeper_tx.protocol.bookie.requests import MIXED_ADD_BYTES, AddRequests, MixedAddRequests, OneAdd
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status


class AddEntry:
    """Serves adds.

    ``force`` learns of acknowledged adds that did not get to the journal, ``watch`` of each last add confirmed that a
    long poll waits for.  ``journals_entries``: whether entries are in the journal before they are acknowledged.
    """

    def __init__(
        self,
        storage: AnyStorage,
        journal: AnyJournal,
        keys: LedgerKeys,
        availability: Availability,
        force: ForceLedger,
        watch: LacWatch,
        journals_entries: bool = True,
    ) -> None:
        self._storage = storage
        self._journal = journal
        self._keys = keys
        self._availability = availability
        self._force = force
        self._watch = watch
        self._watched = watch.ledgers
        self.journals_entries = journals_entries
        self.counts = Counts()
        """The entries that were added; their bytes only if they are not journaled: else the journal counts those."""

    def serve(self, request: AddRequests, connection: Connection) -> None:
        """Add the run of ``request``; the replies are sent when it is durable, or at once when it is refused."""
        status = self._add(request, connection)
        if status is not statuses.EOK:
            self.counts.failed += request.entries.count
            connection.reply(request, status, [request.replies(status)])

    def _add(self, request: AddRequests, connection: Connection) -> Status:
        if self._availability.refuses_add(request.high_priority):
            return statuses.EREADONLY
        run = request.entries
        if not limits.is_whole(run):
            return statuses.EBADREQ
        try:
            ledger, records = self._keys.open(run.ledger_id, request.master_key, ordinary=not request.recovery)
            if ledger.fenced and not request.recovery:
                return statuses.EFENCED
            added = self._storage.add(ledger, run)
        except BookKeeperError as error:
            return status_of(error)
        if not self.journals_entries:
            self._journal_keys(records, [run.ledger_id])
            self._count_at_once(run.count, run.size - run.prefix * run.count)
            connection.reply(request, statuses.EOK, [request.replies(statuses.EOK)])
        elif request.deferred_sync:
            records += added
            self._defer(request, connection, records)
        else:
            records += added
            waiter_bytes = max(request.content_bytes - sum(map(len, added)), 0)
            self._journal.append(records, partial(self._synced, request, connection), waiter_bytes)
        if self._watched and run.ledger_id in self._watched:
            self._watch.advanced(ledger)
        return statuses.EOK

    def _defer(self, request: AddRequests, connection: Connection, records: list[Buffer]) -> None:
        """Journal the run and reply without waiting for the sync, unless the journal refuses it at once."""
        ledger_id = request.entries.ledger_id
        refused = False
        acknowledged = False

        def synced(error: BaseException | None) -> None:
            nonlocal refused
            # Without the request, which the journal would keep until then and not count.
            if error is None:
                self._keys.recorded(ledger_id)
            elif acknowledged:
                self._force.lost(ledger_id)
            else:
                refused = True

        self._journal.append(records, synced)
        acknowledged = not refused
        status = statuses.EIO if refused else statuses.EOK
        self._count(request.entries.count, status)
        connection.reply(request, status, [request.replies(status)])

    def serve_mixed(self, request: MixedAddRequests, connection: Connection) -> None:
        """Add the entries of ``request``, of any ledgers: one append to the journal, one reply when that is durable.

        Each one that is refused is answered by itself, at once.
        """
        if self._availability.refuses_add(request.high_priority):
            status = statuses.EREADONLY
            self.counts.failed += len(request.adds)
            connection.reply(request, status, [request.replies(range(len(request.adds)), status)])
            return
        adds = request.adds
        records: list[Buffer] = []
        refused: dict[int, Status] = {}
        waiter_bytes = 0
        others = frozenset(self._storage.add_at_ends(adds, self._keys.unrecorded, request.recovery))
        for index in sorted(others):
            try:
                waiter_bytes += self._add_one(adds[index], request.recovery, records)
            except BookKeeperError as error:
                refused[index] = status = status_of(error)
                self.counts.failed += 1
                connection.reply(request, status, [request.replies([index], status)])
        taken = [index for index in range(len(adds)) if index not in refused] if refused else range(len(adds))
        if not taken:
            return
        if self.journals_entries:
            at_ends = [index for index in taken if index not in others] if others else taken
            records += [adds[index][4] for index in at_ends]
            waiter_bytes += MIXED_ADD_BYTES * len(taken)
            self._journal.append(records, partial(self._mixed_synced, request, taken, connection), waiter_bytes)
        else:
            self._journal_keys(records, [adds[index][0] for index in taken])
            self._count_at_once(len(taken), sum(len(adds[index][4]) - RECORD_LENGTH_SIZE for index in taken))
            connection.reply(request, statuses.EOK, [request.replies(taken, statuses.EOK)])
        if self._watched:
            for ledger_id in {adds[index][0] for index in taken} & self._watched.keys():
                advanced = self._storage.ledger(ledger_id)
                assert advanced is not None
                self._watch.advanced(advanced)

    def _journal_keys(self, records: list[Buffer], ledger_ids: Sequence[int]) -> None:
        """Journal the key records of ledgers, for which no client waits."""

        def synced(error: BaseException | None) -> None:
            if error is None:
                self._keys.all_recorded(ledger_ids)

        if records:
            self._journal.append(records, synced)

    def _add_one(self, add: OneAdd, recovery: bool, records: list[Buffer]) -> int:
        """Have the storage take an entry; append to ``records`` what must be journaled before it is acknowledged.

        Returns how many of its bytes are not among them.
        """
        ledger_id, entry_id, last_add_confirmed, master_key, record = add
        ledger = self._keys.open_into(records, ledger_id, master_key, not recovery)
        if ledger.fenced and not recovery:
            raise LedgerFenced
        added = self._storage.add_record(ledger, entry_id, last_add_confirmed, record)
        if not self.journals_entries:
            return 0
        records += added
        return max(len(record) - sum(map(len, added)), 0)

    def _mixed_synced(
        self,
        request: MixedAddRequests,
        indexes: Sequence[int],
        connection: Connection,
        error: BaseException | None,
    ) -> None:
        if error is None:
            self._keys.all_recorded(request.adds[index][0] for index in indexes)
        status = statuses.EOK if error is None else statuses.EIO
        self._count(len(indexes), status)
        connection.reply(request, status, [request.replies(indexes, status)])

    def _synced(self, request: AddRequests, connection: Connection, error: BaseException | None) -> None:
        if error is None:
            self._keys.recorded(request.entries.ledger_id)
            status = statuses.EOK
        else:
            # A full journal disk.  What storage has of the run may be read later: an add that failed may have happened.
            status = statuses.EIO
        self._count(request.entries.count, status)
        connection.reply(request, status, [request.replies(status)])

    def _count_at_once(self, count: int, size_bytes: int) -> None:
        self.counts.succeeded += count
        self.counts.size_bytes += size_bytes

    def _count(self, count: int, status: Status) -> None:
        if status is statuses.EOK:
            self.counts.succeeded += count
        else:
            self.counts.failed += count

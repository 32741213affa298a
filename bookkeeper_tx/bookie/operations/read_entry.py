"""Reading single entries (docs/protocol/read-entry.md), fencing first where the request says so."""

from collections.abc import Sequence
from functools import partial

from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.operations.counts import Counts
from bookkeeper_tx.bookie.operations.fencing import Fencing
from bookkeeper_tx.bookie.operations.stored_runs import StoredRuns
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE, EntryRun
from bookkeeper_tx.errors import BookKeeperError, status_of
from bookkeeper_tx.protocol.bookie.requests import Buffer, MixedReadRequests, ReadRequests
from protocol_specs import fields
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status

PART_SIZE_MIN = 1024 * 1024
"""Bytes of entries that are sent without waiting for the rest of the run: a run may ask for gigabytes."""

VIEWED_SIZE_MIN = 512
"""To copy larger entries costs more than to look at them where they are: Python allocates them one by one."""

VIEWED_COUNT_MIN = 4
"""Of so few entries a view of the run is not worth it."""


class ReadEntry:
    """Serves single reads."""

    def __init__(self, storage: AnyStorage, runs: StoredRuns, fencing: Fencing) -> None:
        self._storage = storage
        self._runs = runs
        self._fencing = fencing
        self.counts = Counts()
        """The entries that were read, one by one."""

    def serve(self, request: ReadRequests, connection: Connection) -> None:
        """Answer ``request``: at once if all its entries are in memory and nothing is fenced."""
        if request.fencing:
            then = partial(self._read, request, connection)
            self._fencing.fence(request.ledger_id, request.master_key, connection, then)
        else:
            self._read(request, connection, statuses.EOK)

    def serve_mixed(self, request: MixedReadRequests, connection: Connection) -> None:
        """Answer the reads of entries in memory with one reply, and each other one by itself."""
        reads = request.reads
        found = self._storage.find_reads(reads, PART_SIZE_MIN)
        if found.end < len(reads):
            connection.serve_next(request.rest(found.end))
        if found.entries:
            self.counts.succeeded += len(found.entries)
            self.counts.size_bytes += sum(map(len, found.entries))
            replies = request.replies(found.indexes, found.entries, found.confirmed)
            connection.reply(request, statuses.EOK, replies)
        for index in found.others:
            self._read(request.part(index), connection, statuses.EOK)

    def _read(self, request: ReadRequests, connection: Connection, fenced: Status) -> None:
        ledger, status = None, fenced
        if fenced is statuses.EOK:
            ledger, status = known_ledger(self._storage, request.ledger_id)
        if ledger is None:
            self.counts.failed += len(request.entry_ids)
            replies = request.replies([status] * len(request.entry_ids), fields.NO_ENTRY)
            connection.reply(request, status, replies)
            return
        _Reading(self._runs, request, connection, ledger, self.counts).go_on()


def known_ledger(storage: AnyStorage, ledger_id: int) -> tuple[Ledger | None, Status]:
    """Return the ledger and EOK, or None and the status to answer."""
    try:
        ledger = storage.ledger(ledger_id)
    except BookKeeperError as error:
        return None, status_of(error)
    return ledger, statuses.ENOLEDGER if ledger is None else statuses.EOK


class _Reading:
    """One request on its way: the entries found so far, in the order asked for."""

    __slots__ = ("_answers", "_connection", "_counts", "_ids", "_ledger", "_request", "_runs", "_size", "_status")

    def __init__(
        self,
        runs: StoredRuns,
        request: ReadRequests,
        connection: Connection,
        ledger: Ledger,
        counts: Counts,
    ) -> None:
        self._counts = counts
        self._runs = runs
        self._request = request
        self._connection = connection
        self._ledger = ledger
        self._ids = request.entry_ids
        self._answers: list[Buffer | Status] = []
        self._size = 0
        self._status = statuses.EOK
        """The first status among the answers; EOK while all are entries."""

    def go_on(self) -> None:
        """Collect answers until one has to come from the disk, or reply with all, or with a large part of them."""
        ids, answers, ledger = self._ids, self._answers, self._ledger
        while len(answers) < len(ids) and self._size < PART_SIZE_MIN:
            entry_id = stored_id(ids[len(answers)], ledger)
            if isinstance(entry_id, Status):
                self._refuse(entry_id)
                continue
            found = self._runs.find(ledger.ledger_id, entry_id, self._connection, self._loaded, self._size)
            if found is None:
                return
            self._take(found)
        self._reply()
        if len(answers) < len(ids):
            self._connection.serve_next(self._request.rest(len(answers)))

    def _loaded(self, found: EntryRun | Status) -> None:
        self._take(found)
        self.go_on()

    def _take(self, found: EntryRun | Status) -> None:
        answers, ids = self._answers, self._ids
        if isinstance(found, Status):
            self._refuse(found)
            return
        first = len(answers)
        if type(ids) is range and ids[first] >= 0:
            index = ids[first] - found.first_entry_id
            count = min(len(ids) - first, found.count - index)
            answers += entries_of(found, index, count)
            self._size += found.offsets[index + count] - found.offsets[index]
            return
        for index in range(first, len(ids)):
            entry_id = stored_id(ids[index], self._ledger)
            if isinstance(entry_id, Status) or entry_id not in found:
                break
            entry = found.entry(entry_id)
            answers.append(entry)
            self._size += len(entry)

    def _refuse(self, status: Status) -> None:
        self._answers.append(status)
        self._counts.failed += 1
        self._counts.succeeded -= 1  # it is among the answers that are counted at their end
        if self._status is statuses.EOK:
            self._status = status

    def _reply(self) -> None:
        self._counts.succeeded += len(self._answers)
        self._counts.size_bytes += self._size
        replies = self._request.replies(self._answers, self._ledger.last_add_confirmed)
        self._connection.reply(self._request, self._status, replies)


def stored_id(entry_id: int, ledger: Ledger) -> int | Status:
    """Return the id of the entry that a request for ``entry_id`` means, or why there is none."""
    if entry_id >= 0:
        return entry_id
    if entry_id != fields.LAST_ENTRY:
        return statuses.EBADREQ
    if ledger.limbo:
        return statuses.EUNKNOWNLEDGERSTATE  # whatever is here, there may have been a later one
    if ledger.last_entry_id == fields.NO_ENTRY:
        return statuses.ENOENTRY
    return ledger.last_entry_id


def entries_of(run: EntryRun, index: int, count: int) -> Sequence[Buffer]:
    """Return ``count`` entries of ``run`` from its ``index``-th on."""
    offsets = run.offsets
    buffer: Buffer = run.buffer
    if count > VIEWED_COUNT_MIN and offsets[index + count] - offsets[index] > count * VIEWED_SIZE_MIN:
        buffer = memoryview(buffer)
    if type(offsets) is range:
        size = offsets.step
        return [buffer[at + RECORD_LENGTH_SIZE : at + size] for at in offsets[index : index + count]]
    starts, ends = offsets[index : index + count], offsets[index + 1 : index + count + 1]
    return [buffer[at + RECORD_LENGTH_SIZE : end] for at, end in zip(starts, ends, strict=True)]

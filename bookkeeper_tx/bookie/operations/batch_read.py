"""Batch read (BP-62): as many consecutive entries as count and size allow, in one reply (docs/protocol/batch-read.md).

A stored run is laid out as the reply is, so the entries of one run leave as one slice, found by bisection.
"""

from bisect import bisect_right
from functools import partial
from typing import Final

from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.operations.counts import Counts
from bookkeeper_tx.bookie.operations.fencing import Fencing
from bookkeeper_tx.bookie.operations.lac_watch import LacWatch
from bookkeeper_tx.bookie.operations.read_entry import known_ledger, stored_id
from bookkeeper_tx.bookie.operations.stored_runs import StoredRuns
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE, EntryRun
from bookkeeper_tx.protocol.bookie.requests import BatchReadRequest, Buffer
from bookkeeper_tx.protocol.v2_frames import BATCH_REPLY_SIZE
from protocol_specs import fields
from protocol_specs.wire import status as statuses
from protocol_specs.wire.status import Status

RECORD_SIZE_MIN = RECORD_LENGTH_SIZE + fields.ENTRY_SIZE_MIN

UNLIMITED: Final = 2**63 - 1
"""As a size in bytes or a count of entries: more than any ledger has."""


class BatchRead:
    """Serves batch reads.

    A frame of more than one entry has at most ``size_max`` bytes, its length included; an entry that is larger than
    ``entry_size_max`` alone is answered EBADREQ.
    """

    def __init__(
        self,
        storage: AnyStorage,
        runs: StoredRuns,
        fencing: Fencing,
        watch: LacWatch,
        size_max: int,
        entry_size_max: int = UNLIMITED,
    ) -> None:
        self._storage = storage
        self._runs = runs
        self._fencing = fencing
        self._watch = watch
        self._size_max = size_max
        self._entry_size_max = entry_size_max
        self.counts = Counts()
        """Entries in replies; nothing else is counted."""

    def serve(self, request: BatchReadRequest, connection: Connection) -> None:
        if request.fencing:
            then = partial(self._read, request, connection)
            self._fencing.fence(request.ledger_id, request.master_key, connection, then)
        elif request.previous_last_add_confirmed is not None:
            self._wait(request, connection, request.previous_last_add_confirmed)
        else:
            self._read(request, connection, statuses.EOK)

    def _wait(self, request: BatchReadRequest, connection: Connection, previous: int) -> None:
        """Read once the last add confirmed has passed ``previous``, or the time that the client gives is over."""
        ledger, status = known_ledger(self._storage, request.ledger_id)

        if ledger is not None and ledger.limbo:
            status = statuses.EUNKNOWNLEDGERSTATE
        if ledger is None or status is not statuses.EOK:
            _refuse(request, connection, status)
            return
        # With the ledger that the wait holds: looked up again, it might have to be read from the disk.
        read = partial(self._begin, request, connection, ledger)
        if request.timeout_ms <= 0 or ledger.last_add_confirmed > previous:
            read(None)
        elif not self._watch.wait(request.ledger_id, previous, request.timeout_ms, connection, read):
            _refuse(request, connection, statuses.ETOOMANYREQUESTS)

    def _read(self, request: BatchReadRequest, connection: Connection, fenced: Status) -> None:
        ledger, status = None, fenced
        if fenced is statuses.EOK:
            ledger, status = known_ledger(self._storage, request.ledger_id)
        if ledger is None:
            _refuse(request, connection, status)
        else:
            self._begin(request, connection, ledger, None)

    def _begin(
        self, request: BatchReadRequest, connection: Connection, ledger: Ledger, updated_at_ms: int | None
    ) -> None:
        batch = _Batch(self._runs, request, connection, ledger, self._size_max, self._entry_size_max, self.counts)
        batch.updated_at_ms = updated_at_ms
        batch.go_on()


class _Batch:
    """One batch on its way: the slices so far, and what may still be added."""

    __slots__ = (
        "_connection",
        "_count_left",
        "_counts",
        "_entry_id",
        "_entry_size_max",
        "_ledger",
        "_next_id",
        "_request",
        "_runs",
        "_size_left",
        "_slices",
        "updated_at_ms",
    )

    def __init__(
        self,
        runs: StoredRuns,
        request: BatchReadRequest,
        connection: Connection,
        ledger: Ledger,
        size_max: int,
        entry_size_max: int,
        counts: Counts,
    ) -> None:
        self._counts = counts
        self._runs = runs
        self._request = request
        self._connection = connection
        self._ledger = ledger
        self._slices: list[Buffer] = []
        self.updated_at_ms: int | None = None
        """When the last add confirmed passed the reader's, if it has waited for that."""
        self._next_id = self._entry_id = request.start_entry_id
        self._count_left = request.max_count if request.max_count > 0 else UNLIMITED
        self._size_left = min(request.max_size, size_max) - BATCH_REPLY_SIZE
        self._entry_size_max = entry_size_max

    def go_on(self) -> None:
        """Add runs until one has to come from the disk, or the batch is complete; then reply."""
        more = True
        while more:
            entry_id = stored_id(self._next_id, self._ledger)
            found: EntryRun | Status | None
            if isinstance(entry_id, Status):
                found = entry_id
            else:
                self._entry_id = entry_id  # adds may come while the run is read
                collected = sum(map(len, self._slices))
                found = self._runs.find(self._ledger.ledger_id, entry_id, self._connection, self._loaded, collected)
            if found is None:
                return
            more = self._take(found)

    def _loaded(self, found: EntryRun | Status) -> None:
        if self._take(found):
            self.go_on()

    def _take(self, found: EntryRun | Status) -> bool:
        """Add what fits of a run, or reply if it ends the batch; returns whether to go on with the next run."""
        if isinstance(found, Status):
            self._reply(found)
            return False
        entry_id = self._entry_id
        available = found.last_entry_id - entry_id + 1
        if self._next_id == fields.LAST_ENTRY:
            available = 1  # As Java's `BatchedReadEntryProcessor`: the last entry, then those from 0 on.
        count = min(self._fitting(found, entry_id), available, self._count_left)
        if not self._slices and count < 1:
            if len(found.records(entry_id, 1)) > self._entry_size_max:
                self._reply(statuses.EBADREQ)
                return False
            count = 1
        if count > 0:
            records = found.records(entry_id, count)
            self._slices.append(records)
            self._size_left -= len(records)
            self._count_left -= count
            self._next_id += count
        if count < available or not self._count_left or self._size_left < RECORD_SIZE_MIN:
            self._reply(statuses.EOK)
            return False
        return True

    def _fitting(self, run: EntryRun, entry_id: int) -> int:
        """Return how many entries of ``run`` from ``entry_id`` on the size budget allows."""
        offsets = run.offsets
        index = entry_id - run.first_entry_id
        return bisect_right(offsets, offsets[index] + self._size_left, index) - 1 - index

    def _reply(self, status: Status) -> None:
        """Send what there is; an error after the first entry only ends the batch."""
        if self._slices:
            self._counts.succeeded += self._next_id - self._request.start_entry_id
            reply = self._request.reply(self._slices, self._ledger.last_add_confirmed, self.updated_at_ms)
            self._connection.reply(self._request, statuses.EOK, reply)
        else:
            _refuse(self._request, self._connection, status)


def _refuse(request: BatchReadRequest, connection: Connection, status: Status) -> None:
    connection.reply(request, status, [request.error(status)])

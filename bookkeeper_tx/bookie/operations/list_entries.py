"""Which entries of a ledger are stored here (docs/protocol/list-entries.md).

What is in memory is looked at first, then the index, a stretch of pages at a time on the read worker: an entry that is
flushed meanwhile is found twice, and none is missed.
"""

from array import array
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from twisted.internet.defer import Deferred, DeferredSemaphore
from twisted.logger import Logger

from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.operations.read_entry import known_ledger
from bookkeeper_tx.bookie.operations.stored_runs import StoredRuns
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.entry import entry_list
from bookkeeper_tx.errors import BookKeeperError, status_of
from bookkeeper_tx.protocol.bookie.v3_list_entries import ListEntriesRequest
from bookkeeper_tx.threads.worker import Threads
from protocol_specs.disk.ledger_index import PAGE_COUNT
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3
from protocol_specs.wire.status import Status

PAGES_AT_ONCE: Final = 64
"""Index pages of one job, half a MiB: other reads go in between."""

PAGES_MAX: Final = 256 * 1024
"""Index pages, 2 GiB, beyond which a ledger is not listed: an id near the end of a sparse index costs one add."""

STRETCHES_MAX: Final = 2_000_000
"""Stretches of consecutive entries beyond which a ledger is not listed: 16 bytes each while the list is made."""

LISTS_AT_ONCE: Final = 2
LISTS_WAITING_MAX: Final = 64
"""Requests of all clients that may wait for those before them; more are answered ETOOMANYREQUESTS."""

log = Logger()


class _TooLarge(Exception):
    """The list takes more than may be read, held or sent."""


class _ClientGone(Exception):
    """Nobody waits for the list."""


class ListEntries:
    """Serves lists of entries; a reply has at most ``frame_size_max`` bytes, its length included.

    A ledger whose list would be larger is answered EBADREQ: to ask again is of no use.
    """

    def __init__(self, storage: AnyStorage, runs: StoredRuns, worker: Threads, frame_size_max: int) -> None:
        self._storage = storage
        self._runs = runs
        self._worker = worker
        self._list_size_max = frame_size_max - v3.REPLY_OVERHEAD_MAX
        self._turns = DeferredSemaphore(LISTS_AT_ONCE)

    def serve(self, request: ListEntriesRequest, connection: Connection) -> None:
        """Reply when the index was read."""
        if len(self._turns.waiting) >= LISTS_WAITING_MAX:
            _reply(request, connection, statuses.ETOOMANYREQUESTS, None)
            return
        # Now, and held: when its turn comes, it might have to be read from the disk again.
        ledger, status = known_ledger(self._storage, request.ledger_id)
        if ledger is not None and ledger.limbo:
            ledger, status = None, statuses.EUNKNOWNLEDGERSTATE
        serving: Deferred[None] = self._turns.run(
            lambda: Deferred.fromCoroutine(self._serve(request, connection, ledger, status))
        )
        serving.addErrback(lambda failure: log.failure("a list of entries was not answered", failure))

    async def _serve(
        self, request: ListEntriesRequest, connection: Connection, ledger: Ledger | None, status: Status
    ) -> None:
        availability = None
        if ledger is not None:
            try:
                availability = await self._list(ledger, connection)
            except _ClientGone:
                return
            except (_TooLarge, BookKeeperError, OSError) as error:
                status = _status_of(error)
                log.error("cannot list the entries of {ledger}: {error!r}", ledger=ledger, error=error)
        size = len(availability or b"")
        if not self._runs.end_later(connection, size, partial(_reply, request, connection, status, availability)):
            _reply(request, connection, statuses.ETOOMANYREQUESTS, None)

    async def _list(self, ledger: Ledger, connection: Connection) -> bytes:
        """Return the list as it is sent; raises _TooLarge, _ClientGone, StorageFailed."""
        stretches = _Stretches()
        unflushed = self._storage.unflushed_ranges(ledger.ledger_id)
        page_count = -(-(ledger.last_entry_id + 1) // PAGE_COUNT)
        if page_count > PAGES_MAX:
            raise _TooLarge(f"its index has {page_count} pages")
        page = 0
        while page < page_count:
            if not connection.connected_to_client:
                raise _ClientGone
            found, page = await self._worker.run(self._read, ledger.ledger_id, page, page_count)
            stretches.extend(found)
        encoded: bytes = await self._worker.run(_encode, stretches, unflushed)
        if len(encoded) > self._list_size_max:
            raise _TooLarge(f"it has {len(encoded)} bytes")
        return encoded

    def _read(self, ledger_id: int, page: int, page_count: int) -> tuple[list[range], int]:
        """Return the ids in the next pages that have any, and the page to go on with.  Blocks."""
        first = self._storage.next_indexed_page(ledger_id, page)  # most of a sparse index is holes
        if first is None or first >= page_count:
            return [], page_count
        count = min(PAGES_AT_ONCE, page_count - first)
        return self._storage.indexed_ranges(ledger_id, first, count), first + count


class _Stretches:
    """Ascending stretches of entries: of each the first id, then the id after its last."""

    def __init__(self) -> None:
        self._bounds = array("q")

    def extend(self, ranges: Iterable[range]) -> None:
        bounds = self._bounds
        for stretch in ranges:
            if bounds and bounds[-1] == stretch.start:
                bounds[-1] = stretch.stop
            else:
                bounds.extend((stretch.start, stretch.stop))
        if len(bounds) > 2 * STRETCHES_MAX:
            raise _TooLarge(f"it has more than {STRETCHES_MAX} stretches")

    def __iter__(self) -> Iterator[range]:
        bounds = self._bounds
        return map(range, bounds[0::2], bounds[1::2])


def _encode(indexed: Iterable[range], unflushed: Iterable[range]) -> bytes:
    return entry_list.encode_ranges(united(indexed, unflushed))


def united(*several: Iterable[range]) -> Iterator[range]:
    """Return the ids that are in any of the given ranges as ascending ranges with gaps between them."""
    ordered = sorted((stretch for ranges in several for stretch in ranges), key=lambda stretch: stretch.start)
    start = stop = 0
    for stretch in ordered:
        if stretch.start > stop:
            if stop > start:
                yield range(start, stop)
            start, stop = stretch.start, stretch.stop
        else:
            stop = max(stop, stretch.stop)
    if stop > start:
        yield range(start, stop)


def _reply(request: ListEntriesRequest, connection: Connection, status: Status, availability: bytes | None) -> None:
    connection.reply(request, status, [request.reply(status, availability)])


def _status_of(error: Exception) -> Status:
    if isinstance(error, _TooLarge):
        return statuses.EBADREQ
    return status_of(error) if isinstance(error, BookKeeperError) else statuses.EIO

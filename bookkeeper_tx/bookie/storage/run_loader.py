"""Loading runs from the entry logs: at once if the system has them in memory, else off the reactor thread."""

from twisted.internet.defer import Deferred, fail, succeed
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.storage.checked_pieces import PIECE_SIZE_MAX
from bookkeeper_tx.bookie.storage.entry_reader import EntryReader
from bookkeeper_tx.bookie.storage.indexes import Indexes
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.ledger_cache import LedgerCache, PageKey, location_in
from bookkeeper_tx.bookie.storage.ledger_index import Page, locations_of, page_of
from bookkeeper_tx.bookie.storage.read_cache import ReadCache
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import NoSuchEntry, NoSuchLedger, StorageFailed
from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.threads.worker import Threads
from protocol_specs.disk.entry_log import NO_LOCATION
from protocol_specs.disk.ledger_index import PAGE_COUNT

READ_AHEAD_BYTES_MIN = 16 * 1024
"""Bytes read at once for a reader that jumps: a little more than one entry takes hardly more time."""

READ_AHEAD_BYTES_LEAST = 4 * 1024
"""Bytes read at once however many ledgers are read by turns."""

SCAN_BYTES_MIN = 64 * 1024
"""A reader for which so many bytes are read at once reads a ledger in order, and does not come back to earlier entries.
"""

_Loaded = tuple[Page, EntryRun | None]


class RunLoader:
    """Loads runs and keeps them, and the index pages, for the next read."""

    def __init__(
        self, indexes: Indexes, reader: EntryReader, pages: LedgerCache, runs: ReadCache, worker: Threads
    ) -> None:
        self._indexes = indexes
        self._reader = reader
        self._pages = pages
        self._runs = runs
        self._worker = worker
        self.load_count = 0
        """Loads since the start: reads of entries that were in no cache."""
        self._waiting: dict[PageKey, list[tuple[Ledger, int, Deferred[EntryRun]]]] = {}
        """The requests that wait for a load of the same page, which probably brings their entries."""

    @property
    def read_cache_bytes(self) -> int:
        """The bytes of the runs that were loaded and kept."""
        return self._runs.size_bytes

    def find(self, ledger_id: int, entry_id: int) -> EntryRun | None:
        """Return the run that holds an entry, if it was loaded already."""
        return self._runs.find(ledger_id, entry_id)

    def load(self, ledger: Ledger, entry_id: int) -> Deferred[EntryRun]:
        """Fire with a run that holds an entry; fails with NoSuchEntry or StorageFailed."""
        if ledger.deleted:
            return fail(_no_ledger(ledger))
        if not 0 <= entry_id <= ledger.last_indexed_id:
            return fail(_no_entry(ledger, entry_id))
        self.load_count += 1
        key = (ledger.ledger_id, page_of(entry_id))
        if key in self._waiting:
            waiting: Deferred[EntryRun] = Deferred()
            self._waiting[key].append((ledger, entry_id, waiting))
            return waiting
        size = min(_read_ahead(ledger, entry_id), max(self._runs.ledger_share, READ_AHEAD_BYTES_LEAST))
        count, generation = locations_of(key[1], ledger.last_indexed_id), self._pages.generation
        page = self._pages.get(key) or self._indexes.read_page_at_once(*key, count)
        if page is not None and location_in(page, entry_id) == NO_LOCATION:
            return fail(_no_entry(ledger, entry_id))
        if page is not None:
            run = self._reader.read_run_at_once(ledger.ledger_id, entry_id, page[entry_id % PAGE_COUNT :], size)
            if run is not None:
                return succeed(self._loaded((page, run), ledger, entry_id, generation, size))
        self._waiting[key] = []
        return self._begin(ledger, entry_id, page, size).addBoth(self._wake, key)

    def _begin(self, ledger: Ledger, entry_id: int, page: "Page | None", size: int) -> Deferred[EntryRun]:
        count, generation = locations_of(page_of(entry_id), ledger.last_indexed_id), self._pages.generation
        loading = self._worker.run(self._read, ledger.ledger_id, entry_id, page, count, size)
        loading.addCallback(self._loaded, ledger, entry_id, generation, size)
        return loading.addErrback(self._changed_meanwhile, ledger, entry_id, generation, size)

    def _changed_meanwhile(
        self, failure: Failure, ledger: Ledger, entry_id: int, generation: int, size: int
    ) -> Deferred[EntryRun]:
        """Read again if the entry may have been moved, or its ledger deleted, while it was read."""
        if not isinstance(failure.value, StorageFailed) or generation == self._pages.generation:
            return fail(failure)
        if ledger.deleted:
            return fail(_no_ledger(ledger))
        return self._begin(ledger, entry_id, None, size)

    def location(self, ledger: Ledger, entry_id: int) -> int:
        """Return the location of an entry, NO_LOCATION if it is in no entry log: for the replay, since it blocks.

        Raises StorageFailed.
        """
        if entry_id > ledger.last_indexed_id:
            return NO_LOCATION
        ledger_id, number = ledger.ledger_id, page_of(entry_id)
        page = self._pages.get((ledger_id, number))
        if page is None:
            page = self._indexes.read_page(ledger_id, number, locations_of(number, ledger.last_indexed_id))
            self._pages.put((ledger_id, number), page, self._pages.generation)
        return location_in(page, entry_id)

    def _read(self, ledger_id: int, entry_id: int, page: "Page | None", count: int, size: int) -> _Loaded:
        if page is None:
            page = self._indexes.read_page(ledger_id, page_of(entry_id), count)
        if location_in(page, entry_id) == NO_LOCATION:
            return page, None
        return page, self._reader.read_run(ledger_id, entry_id, page[entry_id % PAGE_COUNT :], size)

    def _loaded(self, loaded: _Loaded, ledger: Ledger, entry_id: int, generation: int, size: int) -> EntryRun:
        page, run = loaded
        self._pages.put((ledger.ledger_id, page_of(entry_id)), page, generation)
        if run is None:
            raise _no_entry(ledger, entry_id)
        if ledger.deleted:
            return run
        self._runs.add(run)
        if run.size >= SCAN_BYTES_MIN:
            self._runs.forget_before(run)
        ledger.next_read_id = run.last_entry_id + 1
        if run.size * 2 > size or ledger.next_read_id % PAGE_COUNT == 0:
            ledger.read_ahead_bytes = min(2 * size, PIECE_SIZE_MAX)
        else:
            ledger.read_ahead_bytes = 2 * run.size
        return run

    def _wake(self, outcome: EntryRun | Failure, key: PageKey) -> EntryRun | Failure:
        """Answer the waiting requests from the loaded run, or start a load for them."""
        for ledger, entry_id, waiting in self._waiting.pop(key):
            run = self._runs.find(ledger.ledger_id, entry_id)
            again = self.load(ledger, entry_id) if run is None else succeed(run)
            again.chainDeferred(waiting)
        return outcome


def _no_entry(ledger: Ledger, entry_id: int) -> NoSuchEntry:
    return NoSuchEntry(f"there is no entry {entry_id} in ledger {ledger_name(ledger.ledger_id)}")


def _no_ledger(ledger: Ledger) -> NoSuchLedger:
    return NoSuchLedger(f"ledger {ledger_name(ledger.ledger_id)} was deleted")


def _read_ahead(ledger: Ledger, entry_id: int) -> int:
    """Return how many bytes to read at once: twice as many each time that a reader goes on near its last read's end.

    Only near, because several requests of one reader are in flight, and they come in any order.
    """
    if abs(entry_id - ledger.next_read_id) > PAGE_COUNT:
        return READ_AHEAD_BYTES_MIN
    return max(ledger.read_ahead_bytes, READ_AHEAD_BYTES_MIN)

"""Bringing into memory what a request needs to know of its ledgers, off the reactor thread."""

from collections.abc import Sequence

from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.storage.held_page import HeldPage, located
from bookkeeper_tx.bookie.storage.indexes import Indexes
from bookkeeper_tx.bookie.storage.ledger_cache import LedgerCache, PageKey
from bookkeeper_tx.bookie.storage.ledger_index import Page, locations_of, page_of
from bookkeeper_tx.bookie.storage.ledger_table import LedgerTable
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.threads.worker import Threads

log = Logger()


class LedgerLoader:
    """Reads handles of ledgers, and index pages.  After the wait they are in memory, or their error is.

    A ledger, what a page tells, or an error stays for as long as what the wait has brought is held, whatever else is
    loaded meanwhile; but not what a page told before a flush that changed it.
    """

    def __init__(self, table: LedgerTable, indexes: Indexes, pages: LedgerCache, worker: Threads) -> None:
        self.knows = table.knows
        """Whether a ledger is in memory, or certainly not here."""
        self.in_memory = table.in_memory
        """A ledger if it is in memory, else None."""
        self._table = table
        self._indexes = indexes
        self._pages = pages
        self._worker = worker
        self._loading: dict[int, list[Deferred[object]]] = {}
        """The Deferreds of those that wait, by ledger."""

    def load(self, ledger_id: int) -> Deferred[object]:
        """Fire once the table has the ledger, or the error of its index, with what is to be held."""
        if self._table.knows(ledger_id):
            return succeed(self._table.find(ledger_id))
        loaded: Deferred[object] = Deferred()
        waiting = self._loading.setdefault(ledger_id, [])
        waiting.append(loaded)
        if len(waiting) == 1:
            reading = self._worker.run(self._table.read, ledger_id)
            reading.addCallbacks(self._table.keep, self._unreadable, errbackArgs=(ledger_id,))
            reading.addCallback(self._wake, ledger_id)
        return loaded

    def is_loaded(self, ledger_id: int) -> bool:
        """Tell after a wait whether memory has the ledger, or the error of its index."""
        return self._table.knows(ledger_id) or self._table.is_unreadable(ledger_id)

    def is_ready_for_add(self, ledger_id: int, first_entry_id: int, last_entry_id: int) -> bool:
        """Tell whether memory has the ledger, and what tells which of these entries the index has."""
        if not self._table.knows(ledger_id):
            return False
        keys = self._keys(ledger_id, first_entry_id, last_entry_id)
        return not keys or all(key in self._pages for key in keys)

    def is_loaded_for_add(self, ledger_id: int, first_entry_id: int, last_entry_id: int) -> bool:
        """Tell the same after a wait, which may have brought errors in their place."""
        if not self._table.knows(ledger_id):
            return self._table.is_unreadable(ledger_id)
        return all(map(self._pages.answers, self._keys(ledger_id, first_entry_id, last_entry_id)))

    def load_for_add(self, ledger_id: int, first_entry_id: int, last_entry_id: int) -> Deferred[object]:
        """Fire once all was read that :meth:`is_ready_for_add` asks for, with what is to be held.

        What a flush has changed meanwhile is to be loaded once more: see :meth:`is_loaded_for_add`.
        """
        return Deferred.fromCoroutine(self._load_for_add(ledger_id, first_entry_id, last_entry_id))

    async def _load_for_add(self, ledger_id: int, first_entry_id: int, last_entry_id: int) -> object:
        held = await self.load(ledger_id)
        if not self._table.knows(ledger_id):
            return held
        return held, await self._load_pages(self._keys(ledger_id, first_entry_id, last_entry_id))

    async def _load_pages(self, keys: Sequence[PageKey]) -> list[HeldPage]:
        held = list(map(self._pages.hold, keys))
        unread = [(key, page) for key, page in zip(keys, held, strict=True) if not page.is_read]
        if unread:
            generation = self._pages.generation
            wanted = [(*key, locations_of(key[1], self._table.last_indexed_id(key[0]))) for key, _ in unread]
            outcomes = await self._worker.run(self._read_pages, wanted)
            for (key, page), outcome in zip(unread, outcomes, strict=True):
                if isinstance(outcome, StorageFailed):
                    log.error("cannot read from ledger storage: {error}", error=outcome)
                    page.fill(outcome)
                else:
                    page.fill(outcome[1])
                    self._pages.put(key, outcome[0], generation)
        return held

    def _keys(self, ledger_id: int, first_entry_id: int, last_entry_id: int) -> Sequence[PageKey]:
        """Return the pages that tell which of these entries the index has, of a ledger in memory."""
        ledger = self._table.find(ledger_id)
        if ledger is None or first_entry_id > ledger.last_indexed_id or first_entry_id < 0:
            return ()
        last_page = page_of(min(last_entry_id, ledger.last_indexed_id))
        return [(ledger_id, number) for number in range(page_of(first_entry_id), last_page + 1)]

    def _read_pages(self, wanted: Sequence[tuple[int, int, int]]) -> list[tuple[Page, int] | StorageFailed]:
        return [self._read_page(*page) for page in wanted]

    def _read_page(self, ledger_id: int, number: int, count: int) -> tuple[Page, int] | StorageFailed:
        try:
            page = self._indexes.read_page(ledger_id, number, count)
        except StorageFailed as error:
            return StorageFailed(str(error))
        return page, located(page)

    def _unreadable(self, failure: Failure, ledger_id: int) -> StorageFailed:
        log.error("cannot read from ledger storage: {error}", error=failure.value)
        error = StorageFailed(str(failure.value) if isinstance(failure.value, StorageFailed) else repr(failure.value))
        self._table.keep_error(ledger_id, error)
        return error

    def _wake(self, held: object, ledger_id: int) -> None:
        for loaded in self._loading.pop(ledger_id):
            loaded.callback(held)

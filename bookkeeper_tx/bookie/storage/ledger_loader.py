"""Bringing into memory what a request needs to know of its ledgers, off the reactor thread."""

from collections.abc import Sequence
from typing import Final

from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.storage.ledger_cache import LedgerCache
from bookkeeper_tx.bookie.storage.ledger_index import LedgerIndexes, Page, locations_of, page_of
from bookkeeper_tx.bookie.storage.ledger_table import LedgerTable
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.threads.worker import Threads

ATTEMPTS_MAX: Final = 5
"""How often pages are read for an add: a flush that ends meanwhile may have changed them."""

log = Logger()


class LedgerLoader:
    """Reads handles of ledgers, and index pages.  After the wait they are in memory, or their error is.

    A ledger, or its error, stays for as long as what the wait has brought is held, whatever else is loaded meanwhile.
    """

    def __init__(self, table: LedgerTable, indexes: LedgerIndexes, pages: LedgerCache, worker: Threads) -> None:
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

    def is_ready_for_add(self, ledger_id: int, first_entry_id: int, last_entry_id: int) -> bool:
        """Tell whether memory has the ledger, and the pages that tell which of these entries the index has."""
        return self._table.knows(ledger_id) and not self._missing(ledger_id, first_entry_id, last_entry_id)

    async def load_for_add(self, ledger_id: int, first_entry_id: int, last_entry_id: int) -> object:
        """Return once memory has what :meth:`is_ready_for_add` asks for, or the error of the ledger's index.

        Returns what is to be held: the ledger, and the error of its pages.  Pages are not, for they have 8 KiB each.
        """
        held = await self.load(ledger_id)
        if not self._table.knows(ledger_id):
            return held
        return held, await self._load_pages(ledger_id, first_entry_id, last_entry_id)

    async def _load_pages(self, ledger_id: int, first_entry_id: int, last_entry_id: int) -> StorageFailed | None:
        """Load what is missing; return the error if it cannot be read."""
        for _ in range(ATTEMPTS_MAX):
            missing = self._missing(ledger_id, first_entry_id, last_entry_id)
            if not missing:
                return None
            generation = self._pages.generation
            last_id = self._table.last_indexed_id(ledger_id)
            try:
                pages = await self._worker.run(self._read_pages, ledger_id, missing, last_id)
            except StorageFailed as error:
                log.error("cannot read from ledger storage: {error}", error=error)
                kept = StorageFailed(str(error))
                self._pages.keep_error([(ledger_id, number) for number in missing], kept)
                return kept
            for number, page in zip(missing, pages, strict=True):
                self._pages.put((ledger_id, number), page, generation)
        return None

    def _missing(self, ledger_id: int, first_entry_id: int, last_entry_id: int) -> list[int]:
        ledger = self._table.find(ledger_id)
        if ledger is None or first_entry_id > ledger.last_indexed_id or first_entry_id < 0:
            return []
        last_page = page_of(min(last_entry_id, ledger.last_indexed_id))
        numbers = range(page_of(first_entry_id), last_page + 1)
        return [number for number in numbers if (ledger_id, number) not in self._pages]

    def _read_pages(self, ledger_id: int, numbers: Sequence[int], last_id: int) -> list[Page]:
        return [self._indexes.read_page(ledger_id, number, locations_of(number, last_id)) for number in numbers]

    def _unreadable(self, failure: Failure, ledger_id: int) -> StorageFailed:
        log.error("cannot read from ledger storage: {error}", error=failure.value)
        error = StorageFailed(str(failure.value) if isinstance(failure.value, StorageFailed) else repr(failure.value))
        self._table.keep_error(ledger_id, error)
        return error

    def _wake(self, held: object, ledger_id: int) -> None:
        for loaded in self._loading.pop(ledger_id):
            loaded.callback(held)

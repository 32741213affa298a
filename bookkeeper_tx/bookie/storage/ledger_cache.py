"""Pages of entry locations kept in memory: as many as a bound in bytes allows, those used last, equal to the files'.

A flush brings what it has written; so a ledger that is read after it was written needs no look into its index file.
"""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from bookkeeper_tx.bookie.storage.ledger_index import Page, page_of
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.disk.entry_log import NO_LOCATION
from protocol_specs.disk.ledger_index import LOCATION_SIZE

PageKey = tuple[int, int]
"""Ledger id and number of the page."""

PAGE_BYTES: Final = 400
"""Memory of a page besides its locations, more or less."""


class PagePart(NamedTuple):
    """Locations that a flush has written to one page."""

    ledger_id: int
    number: int
    slot: int
    """Where the first of them is in the page."""
    locations: Page


class LedgerCache:
    """The index pages used last, in ``size_max`` bytes of memory."""

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self.size_bytes = 0
        self._pages: OrderedDict[PageKey, Page] = OrderedDict()
        self._unreadable: WeakValueDictionary[PageKey, StorageFailed] = WeakValueDictionary()
        """Why pages could not be read the last time, as long as a request holds the error."""
        self.generation = 0
        """Counts flushes: a page read from a file before a flush may be out of date after it."""

    def get(self, key: PageKey) -> "Page | None":
        page = self._pages.get(key)
        if page is not None:
            self._pages.move_to_end(key)
        return page

    def put(self, key: PageKey, page: Page, generation: int) -> None:
        """Keep a page whose reading began in ``generation``, unless it may be out of date."""
        if generation != self.generation:
            return
        self._unreadable.pop(key, None)
        self._keep(key, page)

    def keep_error(self, keys: Iterable[PageKey], error: StorageFailed) -> None:
        """Have :meth:`check` raise the error of a read of pages, as long as a request holds it."""
        for key in keys:
            self._unreadable[key] = error

    def check(self, key: PageKey) -> None:
        """Raise StorageFailed if the page could not be read, and a request still holds the error of that."""
        error = self._unreadable.get(key)
        if error is not None:
            raise StorageFailed(*error.args)

    def flushed(self, parts: Iterable[PagePart], last_indexed_id: Callable[[int], int]) -> None:
        """Take what a flush has written, the parts of a page one after the other.

        ``last_indexed_id`` returns the highest id that a ledger's index had a location of before: a page behind it was
        empty.
        """
        self.generation += 1
        key_before = None
        for ledger_id, number, slot, locations in parts:
            key = (ledger_id, number)
            page = self._pages.get(key)
            if page is None and key != key_before and number > page_of(last_indexed_id(ledger_id)):
                page = array("Q")
            if page is not None:
                self._keep(key, _with(page, slot, locations))
            key_before = key

    def _keep(self, key: PageKey, page: Page) -> None:
        before = self._pages.pop(key, None)
        if before is not None:
            self.size_bytes -= _memory_of(before)
        self._pages[key] = page
        self.size_bytes += _memory_of(page)
        while self.size_bytes > self._size_max and len(self._pages) > 1:
            self.size_bytes -= _memory_of(self._pages.popitem(last=False)[1])

    def __contains__(self, key: PageKey) -> bool:
        return key in self._pages

    def __len__(self) -> int:
        return len(self._pages)


def _memory_of(page: Page) -> int:
    return PAGE_BYTES + LOCATION_SIZE * len(page)


def _with(page: Page, slot: int, locations: Page) -> Page:
    """Return a new page with these locations from ``slot`` on; a reader on another thread may have the old one."""
    if slot == len(page):
        return page + locations
    hole = array("Q", (NO_LOCATION,)) * (slot - len(page))
    return page[:slot] + hole + locations + page[slot + len(locations) :]

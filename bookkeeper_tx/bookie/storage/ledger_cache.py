"""Pages of entry locations kept in memory: as many as a bound in bytes allows, those used last, equal to the files'.

A flush brings what it has written; so a ledger that is read after it was written needs no look into its index file.
"""

from array import array
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

from bookkeeper_tx.bookie.storage.held_page import HeldPage, located
from bookkeeper_tx.bookie.storage.ledger_index import Page, page_of
from protocol_specs.disk.entry_log import NO_LOCATION
from protocol_specs.disk.ledger_index import LOCATION_SIZE, PAGE_COUNT

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
    """The index pages used last, in ``size_max`` bytes of memory, and what requests hold of these and others."""

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self.size_bytes = 0
        self._pages: OrderedDict[PageKey, Page] = OrderedDict()
        self._held: WeakValueDictionary[PageKey, HeldPage] = WeakValueDictionary()
        self.generation = 0
        """Counts changes of files: a page read from a file before one may be out of date after it."""

    def get(self, key: PageKey) -> "Page | None":
        page = self._pages.get(key)
        if page is not None:
            self._pages.move_to_end(key)
        return page

    def put(self, key: PageKey, page: Page, generation: int) -> None:
        """Keep a page whose reading began in ``generation``, unless it may be out of date."""
        if generation != self.generation:
            return
        self._keep(key, page)

    def hold(self, key: PageKey) -> HeldPage:
        """Return what answers for a page as long as somebody holds it, and until a flush changes the page.

        If it is not read yet, the caller is to read the page, now or later, and to fill it.
        """
        held = self._held.get(key)
        if held is None:
            held = self._held[key] = HeldPage()
        if not held.is_read and key in self._pages:
            held.fill(located(self._pages[key]))
        return held

    def answers(self, key: PageKey) -> bool:
        """Tell whether :meth:`has_location` knows the page, or the error of a wait for it."""
        held = self._held.get(key)
        return key in self._pages or (held is not None and held.answers)

    def has_location(self, ledger_id: int, entry_id: int) -> bool:
        """Tell whether an entry has a location, from memory (:meth:`answers`).  Raises StorageFailed."""
        key = (ledger_id, page_of(entry_id))
        page = self.get(key)
        return self._held[key].has(entry_id) if page is None else location_in(page, entry_id) != NO_LOCATION

    def flushed(self, parts: Iterable[PagePart], last_indexed_id: Callable[[int], int]) -> None:
        """Take what a flush has written.

        ``last_indexed_id`` returns the highest id that a ledger's index had a location of before: a page behind it was
        empty.
        """
        self.generation += 1
        seen: set[PageKey] = set()
        for ledger_id, number, slot, locations in parts:
            key = (ledger_id, number)
            self._held.pop(key, None)
            page = self._pages.get(key)
            if page is None and key not in seen and number > page_of(last_indexed_id(ledger_id)):
                page = array("Q")
            if page is not None:
                self._keep(key, _with(page, slot, locations))
            seen.add(key)

    def moved(self, parts: Iterable[PagePart]) -> None:
        """Take new locations of entries that had others before."""
        self.generation += 1
        for ledger_id, number, slot, locations in parts:
            page = self._pages.get((ledger_id, number))
            if page is not None:
                self._keep((ledger_id, number), _with(page, slot, locations))

    def forget(self, ledger_ids: Container[int]) -> None:
        """Forget the pages of ledgers that were deleted, or whose files may differ from them."""
        self.generation += 1
        for key in [key for key in self._pages if key[0] in ledger_ids]:
            self.size_bytes -= _memory_of(self._pages.pop(key))
        for key in [key for key in list(self._held.keys()) if key[0] in ledger_ids]:
            self._held.pop(key, None)

    def _keep(self, key: PageKey, page: Page) -> None:
        before = self._pages.pop(key, None)
        if before is not None:
            self.size_bytes -= _memory_of(before)
        self._pages[key] = page
        self.size_bytes += _memory_of(page)
        while self.size_bytes > self._size_max and len(self._pages) > 1:
            self.size_bytes -= _memory_of(self._pages.popitem(last=False)[1])

    def __contains__(self, key: PageKey) -> bool:
        held = self._held.get(key)
        return key in self._pages or (held is not None and held.is_read)

    def __len__(self) -> int:
        return len(self._pages)


def location_in(page: Page, entry_id: int) -> int:
    """Return the location of an entry of the page, NO_LOCATION if it has none."""
    slot = entry_id % PAGE_COUNT
    return page[slot] if slot < len(page) else NO_LOCATION


def _memory_of(page: Page) -> int:
    return PAGE_BYTES + LOCATION_SIZE * len(page)


def _with(page: Page, slot: int, locations: Page) -> Page:
    """Return a new page with these locations from ``slot`` on; a reader on another thread may have the old one."""
    if slot == len(page):
        return page + locations
    hole = array("Q", (NO_LOCATION,)) * (slot - len(page))
    return page[:slot] + hole + locations + page[slot + len(locations) :]

"""Pages of entry locations kept in memory: a bounded number, the ones used last, equal to those in the files."""

from array import array
from collections import OrderedDict
from collections.abc import Iterable

PageKey = tuple[int, int]
"""Ledger id and number of the page."""


class LedgerCache:
    """The ``pages_max`` index pages used last."""

    def __init__(self, pages_max: int) -> None:
        self._pages_max = pages_max
        self._pages: OrderedDict[PageKey, array[int]] = OrderedDict()
        self.generation = 0
        """Counts flushes: a page read from a file before a flush may be out of date after it."""

    def get(self, key: PageKey) -> "array[int] | None":
        page = self._pages.get(key)
        if page is not None:
            self._pages.move_to_end(key)
        return page

    def put(self, key: PageKey, page: "array[int]", generation: int) -> None:
        """Keep a page whose reading began in ``generation``, unless it may be out of date."""
        if generation != self.generation:
            return
        self._pages[key] = page
        self._pages.move_to_end(key)
        if len(self._pages) > self._pages_max:
            self._pages.popitem(last=False)

    def changed(self, keys: Iterable[PageKey]) -> None:
        """Forget pages that a flush has written."""
        self.generation += 1
        for key in keys:
            self._pages.pop(key, None)

    def __contains__(self, key: PageKey) -> bool:
        return key in self._pages

    def __len__(self) -> int:
        return len(self._pages)

"""Pages of entry locations kept in memory: a bounded number, the ones used last, equal to those in the files."""

from array import array
from collections import OrderedDict
from collections.abc import Iterable
from weakref import WeakValueDictionary

from bookkeeper_tx.errors import StorageFailed

PageKey = tuple[int, int]
"""Ledger id and number of the page."""


class LedgerCache:
    """The ``pages_max`` index pages used last."""

    def __init__(self, pages_max: int) -> None:
        self._pages_max = pages_max
        self._pages: OrderedDict[PageKey, array[int]] = OrderedDict()
        self._unreadable: WeakValueDictionary[PageKey, StorageFailed] = WeakValueDictionary()
        """Why pages could not be read the last time, as long as a request holds the error."""
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
        self._unreadable.pop(key, None)
        self._pages[key] = page
        self._pages.move_to_end(key)
        if len(self._pages) > self._pages_max:
            self._pages.popitem(last=False)

    def keep_error(self, keys: Iterable[PageKey], error: StorageFailed) -> None:
        """Have :meth:`check` raise the error of a read of pages, as long as a request holds it."""
        for key in keys:
            self._unreadable[key] = error

    def check(self, key: PageKey) -> None:
        """Raise StorageFailed if the page could not be read, and a request still holds the error of that."""
        error = self._unreadable.get(key)
        if error is not None:
            raise StorageFailed(*error.args)

    def changed(self, keys: Iterable[PageKey]) -> None:
        """Forget pages that a flush has written."""
        self.generation += 1
        for key in keys:
            self._pages.pop(key, None)

    def __contains__(self, key: PageKey) -> bool:
        return key in self._pages

    def __len__(self) -> int:
        return len(self._pages)

"""Where the indexes have the entries that were found in an entry log: of each page, no more is read than those need."""

from array import array
from collections.abc import Iterable

from bookkeeper_tx.bookie.storage.indexes import Indexes
from bookkeeper_tx.bookie.storage.ledger_index import page_of
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs.disk.ledger_index import PAGE_COUNT


class FoundLocations:
    """The locations that ``indexes`` have of the entries of ``runs``, which are all from 0 on.

    A page is read once, from the first of these entries to the last one.
    """

    def __init__(self, indexes: Indexes, runs: Iterable[EntryRun]) -> None:
        self._indexes = indexes
        self._slots: dict[tuple[int, int], tuple[int, int]] = {}
        """Of each page the first slot and the end of what is needed."""
        self._pages: dict[tuple[int, int], array[int]] = {}
        for run in runs:
            for number in _pages_of(run):
                key, (first, end) = (run.ledger_id, number), _slots_of(run, number)
                known = self._slots.get(key, (first, end))
                self._slots[key] = min(first, known[0]), max(end, known[1])

    def of(self, run: EntryRun) -> "array[int]":
        """Return the locations of the entries of one of the runs, 0 for those that have none.

        Blocks; raises StorageFailed.
        """
        stored = array("Q")
        for number in _pages_of(run):
            key, (first, end) = (run.ledger_id, number), _slots_of(run, number)
            begin = self._slots[key][0]
            stored += self._page(key)[first - begin : end - begin]
        return stored

    def _page(self, key: tuple[int, int]) -> "array[int]":
        page = self._pages.get(key)
        if page is None:
            first, end = self._slots[key]
            page = self._indexes.read_page(*key, end - first, first)
            page = self._pages[key] = page + array("Q", bytes(8 * (end - first - len(page))))
        return page


def _pages_of(run: EntryRun) -> range:
    return range(page_of(run.first_entry_id), page_of(run.last_entry_id) + 1)


def _slots_of(run: EntryRun, number: int) -> tuple[int, int]:
    """Return the first slot of a page that has an entry of a run, and the end of those."""
    first = number * PAGE_COUNT
    return max(run.first_entry_id - first, 0), min(run.last_entry_id + 1 - first, PAGE_COUNT)

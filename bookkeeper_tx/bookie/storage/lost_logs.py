"""Entry logs that are gone with their directory: the locations in them are erased.

An entry that has a location counts as being here: it would neither be copied nor be stored again, and a new log with
the number of one that is gone would seem to have it.
"""

from array import array
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from twisted.logger import Logger

from bookkeeper_tx.bookie.storage.entry_location import split_location
from bookkeeper_tx.bookie.storage.entry_log_format import log_name
from bookkeeper_tx.bookie.storage.indexes import Indexes, WritesIndexes
from bookkeeper_tx.bookie.storage.ledger_directories import LedgerDirectories
from protocol_specs.disk.entry_log import LOCATION_LOG_ID_SHIFT, NO_LOCATION
from protocol_specs.disk.ledger_index import PAGE_COUNT
from protocol_specs.ledger_id import SCOPED_MIN

STRETCHES_MAX: Final = 1000
"""Stretches of entries of a ledger that are erased together."""

log = Logger()


class LostLogs:
    """Looks for locations in logs that are in none of ``directories``."""

    def __init__(self, directories: LedgerDirectories, indexes: Indexes, writer: WritesIndexes) -> None:
        self.possible = False
        """Whether logs may be gone: to be set before the storage starts.  To look takes reading all indexes."""
        self._directories = directories
        self._indexes = indexes
        self._writer = writer

    def erase_locations(self, ledger_ids: Iterable[int]) -> None:
        """Erase the locations of ``ledger_ids`` in logs that are gone, durably, if logs may be gone.

        Blocks, before anything else is read or written.  Raises OSError, also if one of the directories does not
        answer, RefusedToStart, StorageFailed: nobody knows then what is here.
        """
        if not self.possible:
            return
        names = frozenset(self._directories.find())
        self._writer.set_needs_integrity_check(True)  # first: a kill may come at any of them
        count = sum(self._erase(ledger_id, names) for ledger_id in ledger_ids)
        if count:
            log.warn("{count} entries were in entry logs that are gone", count=count)

    def _erase(self, ledger_id: int, names: frozenset[str]) -> int:
        lost: list[range] = []
        count = 0
        for each in self._lost(ledger_id, names):
            lost.append(each)
            count += len(each)
            if len(lost) == STRETCHES_MAX:
                self._writer.erase(ledger_id, lost)
                lost = []
        if lost:
            self._writer.erase(ledger_id, lost)
        return count

    def _lost(self, ledger_id: int, names: frozenset[str]) -> Iterator[range]:
        scoped = ledger_id >= SCOPED_MIN
        number = self._indexes.next_page(ledger_id, 0)
        while number is not None:
            page = self._indexes.read_page(ledger_id, number)
            logs = {each >> LOCATION_LOG_ID_SHIFT for each in page if each != NO_LOCATION}
            gone = {log_id for log_id in logs if log_name(log_id, scoped) not in names}
            if gone:
                yield from _in_logs(page, number * PAGE_COUNT, gone)
            number = self._indexes.next_page(ledger_id, number + 1)


def _in_logs(page: "array[int]", first_id: int, log_ids: set[int]) -> Iterator[range]:
    """Return the ids, ascending, of the entries of a page that are in these logs."""
    at = first_id
    for is_in, stretch in groupby(page, lambda each: each != NO_LOCATION and split_location(each)[0] in log_ids):
        count = sum(1 for _ in stretch)
        if is_in:
            yield range(at, at + count)
        at += count

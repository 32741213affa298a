"""The entries of a ledger by its index: each is read where the index says that it lies, and checked to be the entry."""

from collections.abc import Iterator, Sequence
from typing import Final

from attrs import frozen

from bookkeeper_tx.bookie.offline.entry_logs import EntryLogs
from bookkeeper_tx.bookie.offline.records import one_line
from bookkeeper_tx.bookie.storage.entry_location import split_location
from bookkeeper_tx.bookie.storage.entry_log_format import log_name
from bookkeeper_tx.bookie.storage.indexes import Indexes
from bookkeeper_tx.bookie.storage.ledger_index import Page
from bookkeeper_tx.entry.entry_format import format_of
from bookkeeper_tx.entry.entry_log_scan import RECORD_SIZE_MAX
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE, EntryRun
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.model import ledger_name
from protocol_specs.disk import ledger_index as spec
from protocol_specs.disk.entry_log import NO_LOCATION
from protocol_specs.ledger_id import SCOPED_MIN

READ_SIZE: Final = 1024 * 1024
"""Bytes of entries read at once, about; more only for an entry that is larger."""

GAP_MAX: Final = 32 * 1024
"""Entries that are farther from one another are read apart."""

TAIL_SIZE: Final = 4096
"""Bytes read for the last of several entries, whose end is not known."""


@frozen(eq=False)
class Stored:
    """Entries that lie back to back in a log."""

    run: EntryRun
    log_id: int
    offset: int
    """Of the length word of the first one in the log."""


@frozen
class Fault:
    """An entry that is not where the index says."""

    ledger_id: int
    entry_id: int
    log_id: int
    offset: int
    """Where its length word should be in the log."""
    text: str


@frozen
class BadIndex:
    """An index file that cannot be read, or not from this page on."""

    ledger_id: int
    text: str


def locations_of(
    indexes: Indexes, ledger_id: int, first: int = 0, last: int | None = None
) -> Iterator[tuple[int, Page]]:
    """Give the pages of a ledger that may have locations of the entries ``first`` … ``last``, each with its first entry
    id; locations of other entries are 0.  Raises StorageFailed."""
    at = first // spec.PAGE_COUNT
    while (number := indexes.next_page(ledger_id, at)) is not None:
        first_id = number * spec.PAGE_COUNT
        if last is not None and first_id > last:
            return
        page = indexes.read_page(ledger_id, number)
        for slot in range(min(first - first_id, len(page))):
            page[slot] = NO_LOCATION
        if last is not None:
            del page[last + 1 - first_id :]
        yield first_id, page
        at = number + 1


def stored_entries(
    indexes: Indexes, logs: EntryLogs, ledger_id: int, first: int = 0, last: int | None = None
) -> Iterator[Stored | Fault | BadIndex]:
    """Give the entries ``first`` … ``last`` of a ledger that has an index, ascending; what is wrong raises nothing."""
    try:
        for first_id, page in locations_of(indexes, ledger_id, first, last):
            yield from entries_at(logs, ledger_id, first_id, page)
    except StorageFailed as error:
        yield BadIndex(ledger_id, one_line(error))


def entries_at(logs: EntryLogs, ledger_id: int, first_id: int, page: Page) -> Iterator[Stored | Fault]:
    """Give the entries of a ledger that have these locations, of which the first is that of ``first_id``."""
    slots = [slot for slot, each in enumerate(page) if each != NO_LOCATION]
    start = 0
    while start < len(slots):
        end, first = start + 1, page[slots[start]]
        before = first
        while end < len(slots) and 0 < page[slots[end]] - before <= GAP_MAX and before - first < READ_SIZE:
            before = page[slots[end]]
            end += 1
        places = [(first_id + slot, page[slot] - first) for slot in slots[start:end]]
        yield from _Group(logs, ledger_id, first, places)
        start = end


class _Group:
    """Entries that are near one another in a log: they are read together."""

    def __init__(self, logs: EntryLogs, ledger_id: int, first: int, places: Sequence[tuple[int, int]]) -> None:
        """``places`` are entry ids, and where each entry is after the first, whose location is ``first``."""
        self._logs = logs
        self._ledger_id = ledger_id
        self._form = format_of(ledger_id)
        self._owner = b""
        """The bytes before the entry id of the last entry that was right."""
        self._scoped = ledger_id >= SCOPED_MIN
        self._log_id, self._offset = split_location(first)
        self._places = places

    def __iter__(self) -> Iterator[Stored | Fault]:
        path = self._logs.path(self._log_id, self._scoped)
        if path is None:
            where = f"entry log {log_name(self._log_id, self._scoped)}, which is not there"
            for entry_id, at in self._places:
                yield self._fault(entry_id, at, f"should be at offset {self._offset + at} of {where}")
            return
        try:
            yield from self._entries(path)
        except StorageFailed as error:
            entry_id, at = self._places[0]
            yield Fault(self._ledger_id, entry_id, self._log_id, self._offset + at, str(error))

    def _entries(self, path: str) -> Iterator[Stored | Fault]:
        size = self._places[-1][1] + TAIL_SIZE
        data = self._logs.read(path, self._offset, size) if self._offset >= 0 else b""
        run: list[int] = []
        next_id = -1
        for entry_id, at in self._places:
            size = self._size_of(data, at, entry_id)
            if run and (entry_id, at) != (next_id, run[-1]):
                yield self._stored(next_id, data, run)
                run = []
            if 0 < size <= len(data) - at:
                run = run or [at]
                run.append(at + size)
                next_id = entry_id + 1
                continue
            if run:
                yield self._stored(next_id, data, run)
                run = []
            whole = self._logs.read(path, self._offset + at, size) if 0 < size <= RECORD_SIZE_MAX else b""
            if size and len(whole) == size:
                yield Stored(EntryRun(self._ledger_id, entry_id, whole, [0, size]), self._log_id, self._offset + at)
            else:
                yield self._fault(entry_id, at, f"is not at offset {self._offset + at} of entry log {path}")
        if run:
            yield self._stored(next_id, data, run)

    def _size_of(self, data: bytes, at: int, entry_id: int) -> int:
        """Return the size of the record at ``at``, length word included; 0 if it is not that of the entry."""
        if len(data) - at < self._form.head_size:
            return 0
        length, owner, found_id = self._form.head.unpack_fixed(data, at)
        if found_id != entry_id or length < self._form.ids_size:
            return 0
        if owner != self._owner:
            if not self._form.is_of(self._ledger_id, owner):
                return 0
            self._owner = owner
        return int(length) + RECORD_LENGTH_SIZE

    def _stored(self, next_id: int, data: bytes, offsets: list[int]) -> Stored:
        run = EntryRun(self._ledger_id, next_id - len(offsets) + 1, data, offsets)
        return Stored(run, self._log_id, self._offset + offsets[0])

    def _fault(self, entry_id: int, at: int, text: str) -> Fault:
        what = f"entry {entry_id} of ledger {ledger_name(self._ledger_id)} {text}"
        return Fault(self._ledger_id, entry_id, self._log_id, self._offset + at, what)

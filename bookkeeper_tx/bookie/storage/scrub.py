"""Whether entries of a storage that serves are where its index says: some entries of a ledger at a time."""

import errno
from collections.abc import Sequence
from typing import Final

from attrs import frozen

from bookkeeper_tx.bookie.disk import out_of_descriptors
from bookkeeper_tx.bookie.key_values import DAMAGED, NOT_OPEN
from bookkeeper_tx.bookie.storage.entry_reader import EntryReader
from bookkeeper_tx.bookie.storage.indexes import Indexes
from bookkeeper_tx.bookie.storage.ledger_index import without_absent_end
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.disk.entry_log import NO_LOCATION
from protocol_specs.disk.ledger_index import PAGE_COUNT
from protocol_specs.fields import NO_ENTRY

READ_SIZE: Final = 64 * 1024
"""Bytes read at once, about: nobody waits for them."""


class ScrubFailed(StorageFailed):
    """The disk does not give what is stored, so that nobody knows whether it is right."""


@frozen
class Suspect:
    """An entry that was not where the index said; NO_ENTRY: no index of the ledger could be understood."""

    entry_id: int
    location: int
    text: str


@frozen
class Looked:
    """What a look has come to."""

    entry_count: int
    """Entries that it has looked at."""
    suspects: Sequence[Suspect]
    next_id: int | None
    """The entry to go on with; None at the end of the ledger, or when its index could not be understood."""


class Scrub:
    """Reads entries at the locations that ``indexes`` have.  Calls block, and may come from any thread."""

    def __init__(self, indexes: Indexes, reader: EntryReader) -> None:
        self._indexes = indexes
        self._reader = reader

    def look(self, ledger_id: int, first_id: int, count_max: int) -> Looked:
        """Look at up to ``count_max`` entries of one page of the index, those from ``first_id`` on.

        What a flush, a compaction or a deletion changes meanwhile may be a suspect, and is none when it is looked at
        again.  Raises ScrubFailed, and StorageFailed when no file can be opened now, or a database is opened anew.
        """
        try:
            number = self._indexes.next_page(ledger_id, first_id // PAGE_COUNT)
            if number is None:
                return Looked(0, (), None)
            page = without_absent_end(self._indexes.read_page(ledger_id, number))
        except StorageFailed as error:
            _require_readable(error)
            return Looked(0, [Suspect(NO_ENTRY, NO_LOCATION, str(error))], None)
        page_id = number * PAGE_COUNT
        slot, count = max(first_id - page_id, 0), 0
        suspects: list[Suspect] = []
        while slot < len(page) and count < count_max:
            if page[slot] == NO_LOCATION:
                slot += 1
                continue
            try:
                run = self._reader.read_run(ledger_id, page_id + slot, page[slot : slot + count_max - count], READ_SIZE)
                found = run.count
            except StorageFailed as error:
                _require_readable(error)
                suspects.append(Suspect(page_id + slot, page[slot], str(error)))
                found = 1
            slot, count = slot + found, count + found
        return Looked(count, suspects, page_id + (slot if slot < len(page) else PAGE_COUNT))


def _require_readable(error: StorageFailed) -> None:
    """Raise what the disk says, unless it is that a file is not there, or that a database is damaged."""
    cause = error.__cause__
    if not isinstance(cause, OSError) or cause.errno in (errno.ENOENT, DAMAGED):
        return
    if out_of_descriptors(cause) or cause.errno == NOT_OPEN:
        raise error
    raise ScrubFailed(str(error)) from cause

"""The entries of a ledger by its index: each is read where the index says that it lies, and checked to be the entry."""

from collections.abc import Iterator
from typing import Final

from attrs import frozen

from bookkeeper_tx.bookie.offline.entry_logs import EntryLogs
from bookkeeper_tx.bookie.storage.entry_location import split_location
from bookkeeper_tx.bookie.storage.ledger_index import LedgerIndexes, Page
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.disk import ledger_index as spec
from protocol_specs.disk.entry_log import NO_LOCATION

READ_SIZE: Final = 1024 * 1024
"""Bytes of entries read at once; more only for an entry that is larger."""


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
    indexes: LedgerIndexes, ledger_id: int, first: int = 0, last: int | None = None
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
    indexes: LedgerIndexes, logs: EntryLogs, ledger_id: int, first: int = 0, last: int | None = None
) -> Iterator[Stored | Fault | BadIndex]:
    """Give the entries ``first`` … ``last`` of a ledger that has an index, ascending; what is wrong raises nothing."""
    try:
        for first_id, page in locations_of(indexes, ledger_id, first, last):
            yield from entries_at(logs, ledger_id, first_id, page)
    except StorageFailed as error:
        yield BadIndex(ledger_id, str(error))


def entries_at(logs: EntryLogs, ledger_id: int, first_id: int, page: Page) -> Iterator[Stored | Fault]:
    """Give the entries of a ledger that have these locations, of which the first is that of ``first_id``."""
    slot = 0
    while slot < len(page):
        if page[slot] == NO_LOCATION:
            slot += 1
            continue
        log_id, offset = split_location(page[slot])
        try:
            run = logs.read_run(ledger_id, first_id + slot, page[slot:], READ_SIZE)
        except StorageFailed as error:
            yield Fault(ledger_id, first_id + slot, log_id, offset, str(error))
            slot += 1
        else:
            yield Stored(run, log_id, offset)
            slot += run.count

"""Indexes of one class of storage that are copied to those of another."""

from array import array
from collections.abc import Iterator, Sequence

from attrs import frozen

from bookkeeper_tx.bookie.storage.indexes import Indexes, WritesIndexes
from bookkeeper_tx.bookie.storage.ledger_index import Page
from bookkeeper_tx.bookie.storage.several.log_numbers import shifted
from protocol_specs.disk.entry_log import NO_LOCATION
from protocol_specs.disk.ledger_index import PAGE_COUNT


@frozen
class IndexPair:
    """Both of them; calls block."""

    source: Indexes
    ledger_ids: Sequence[int]
    """The ledgers to be copied."""
    target: Indexes
    writer: WritesIndexes
    shift: int
    """The difference of their locations."""

    def is_same(self, ledger_id: int) -> bool:
        """Tell whether a ledger has the same state, and the same locations but for their shift, in both."""
        source, target = self.source, self.target
        if target.read_header(ledger_id, replaying=True) != source.read_header(ledger_id):
            return False
        return all(
            _whole(shifted(source.read_page(ledger_id, number), self.shift))
            == _whole(target.read_page(ledger_id, number))
            for number in pages_of(source, ledger_id)
        )


def pages_of(indexes: Indexes, ledger_id: int) -> Iterator[int]:
    """Return the pages that have locations, ascending."""
    number = indexes.next_page(ledger_id, 0)
    while number is not None:
        yield number
        number = indexes.next_page(ledger_id, number + 1)


def _whole(page: Page) -> Page:
    """Return a page with the zeros that a file need not have at its end."""
    return page + array("Q", [NO_LOCATION]) * (PAGE_COUNT - len(page))

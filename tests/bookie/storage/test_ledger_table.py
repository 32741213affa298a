import gc

import pytest

from bookkeeper_tx.bookie.storage.checked_pieces import CheckedPieces
from bookkeeper_tx.bookie.storage.entry_reader import EntryReader
from bookkeeper_tx.bookie.storage.index_writer import IndexChange, IndexWriter
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader, LedgerIndexes
from bookkeeper_tx.bookie.storage.ledger_table import LedgerTable
from tests.bookie.crashing_disk import DIRECTORY, new_disk
from tests.bookie.seams import KEY


class Table(LedgerTable):
    """A table of at most two ledgers, over index files of ten."""

    def __init__(self) -> None:
        disk = new_disk()
        indexes = LedgerIndexes(disk, DIRECTORY, 10)
        header = IndexHeader(KEY)
        IndexWriter(disk, indexes).write([IndexChange(ledger_id, header, (), True) for ledger_id in range(10)])
        self.busy: set[int] = set()
        super().__init__(indexes, EntryReader(disk, DIRECTORY, CheckedPieces()), self.busy.__contains__, 2)


@pytest.fixture
def table() -> Table:
    return Table()


def test_a_handle_that_somebody_holds_stays_the_one(table: Table) -> None:
    held = table.find(0)
    assert held is not None
    for ledger_id in range(1, 6):
        assert table.find(ledger_id) is not None
    held.fenced = True
    assert table.find(0) is held


def test_a_handle_that_nobody_needs_is_read_again(table: Table) -> None:
    first = table.find(0)
    assert first is not None
    first.fenced = True
    del first
    for ledger_id in range(1, 4):
        table.find(ledger_id)
    gc.collect()
    again = table.find(0)
    assert again is not None
    assert not again.fenced


def test_a_handle_with_changes_stays(table: Table) -> None:
    table.busy |= {0, 1}
    for ledger_id in (0, 1):
        ledger = table.find(ledger_id)
        assert ledger is not None
        ledger.fenced = True
    del ledger
    for ledger_id in range(2, 8):
        table.find(ledger_id)
    gc.collect()
    for ledger_id in (0, 1):
        kept = table.find(ledger_id)
        assert kept is not None
        assert kept.fenced


def test_ids_that_are_none_are_unknown(table: Table) -> None:
    assert table.find(-1) is None
    assert table.find(10) is None

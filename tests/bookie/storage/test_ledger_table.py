import gc

import pytest

from bookkeeper_tx.bookie.storage.checked_pieces import CheckedPieces
from bookkeeper_tx.bookie.storage.entry_reader import EntryReader
from bookkeeper_tx.bookie.storage.index_writer import IndexChange, IndexWriter
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader, LedgerIndexes
from bookkeeper_tx.bookie.storage.ledger_table import LedgerTable
from bookkeeper_tx.errors import StorageFailed
from tests.bookie.crashing_disk import DIRECTORY, new_disk
from tests.bookie.seams import KEY
from tests.bookie.storage.storages import log_directories


class Table(LedgerTable):
    """A table of at most two ledgers, over index files of ten."""

    def __init__(self) -> None:
        disk = new_disk()
        indexes = LedgerIndexes(disk, DIRECTORY, 10)
        header = IndexHeader(KEY)
        IndexWriter(disk, indexes).write([IndexChange(ledger_id, header, (), True) for ledger_id in range(10)])
        self.busy: set[int] = set()
        super().__init__(indexes, EntryReader(disk, log_directories(disk), CheckedPieces()), self.busy.__contains__, 2)
        self.disk = disk
        self.replaying = False
        self.start()


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


def test_what_is_in_memory_or_has_no_index_is_known(table: Table) -> None:
    assert [each for each in range(-1, 15) if table.knows(each)] == [-1, *range(10, 15)]
    found = table.find(3)
    for ledger_id in range(4, 7):
        table.find(ledger_id)
    assert found is not None
    assert [each for each in range(10) if table.knows(each)] == [3, 5, 6]
    table.create(20, KEY)
    assert table.knows(20)


def test_a_new_ledger_is_looked_for_on_the_disk_once_it_has_an_index(table: Table) -> None:
    table.busy.add(20)
    ledger = table.create(20, KEY)
    assert not table.has_index(20)
    table.indexed(20, 5)
    table.indexed(20, 3)
    assert (ledger.indexed, ledger.last_indexed_id) == (True, 5)
    assert table.has_index(20)
    del ledger
    table.busy.clear()
    for ledger_id in range(3):
        table.find(ledger_id)
    gc.collect()
    assert not table.knows(20)


def test_an_index_that_has_vanished_is_no_unknown_ledger(table: Table) -> None:
    table.disk.remove(f"{DIRECTORY}/0/5/5.idx")
    with pytest.raises(StorageFailed, match="vanished"):
        table.find(5)
    assert table.find(4) is not None


def test_a_ledger_that_was_read_elsewhere_is_the_one_unless_there_is_one_already(table: Table) -> None:
    first, second = table.read(3), table.read(3)
    assert first is not None
    assert second is not None
    assert not table.knows(3)
    table.keep(first)
    table.keep(second)
    assert table.find(3) is first


def test_an_error_is_raised_without_the_disk_until_a_read_succeeds(table: Table) -> None:
    error = StorageFailed("bad sector")
    table.keep_error(5, error)
    assert not table.knows(5), "the next request looks again"
    for _ in range(2):
        with pytest.raises(StorageFailed, match="bad sector"):
            table.find(5)
    ledger = table.read(5)
    assert ledger is not None
    table.keep(ledger)
    assert table.find(5) is ledger


def test_an_error_is_kept_as_long_as_somebody_holds_it(table: Table) -> None:
    held, error = StorageFailed("bad sector"), StorageFailed("bad sector")
    table.keep_error(1, held)
    table.keep_error(2, error)
    for ledger_id in (1, 2):
        with pytest.raises(StorageFailed):
            table.find(ledger_id)
    del error
    with pytest.raises(StorageFailed):
        table.find(1)
    assert table.find(2) is not None

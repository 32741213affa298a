from array import array

import pytest

from bookkeeper_tx.bookie.storage.held_page import HeldPage, located
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.disk.ledger_index import PAGE_COUNT

PAGE = array("Q", [7 if entry_id in (0, 3, PAGE_COUNT - 1) else 0 for entry_id in range(PAGE_COUNT)])


def test_it_tells_which_entries_have_a_location_in_little_memory() -> None:
    held = HeldPage()
    assert not held.is_read
    held.fill(located(PAGE))
    assert held.is_read
    first = 2 * PAGE_COUNT
    assert [at for at in range(PAGE_COUNT) if held.has(first + at)] == [0, 3, PAGE_COUNT - 1]
    assert located(PAGE).__sizeof__() < 200


def test_an_error_answers_until_the_page_is_read() -> None:
    held = HeldPage()
    assert not held.answers
    held.fill(StorageFailed("bad sector"))
    assert held.answers
    assert not held.is_read
    with pytest.raises(StorageFailed, match="bad sector"):
        held.has(0)
    held.fill(located(PAGE))
    held.fill(StorageFailed("bad sector"))
    assert held.has(0)

from array import array
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.bookie.storage.found_locations import FoundLocations
from bookkeeper_tx.bookie.storage.ledger_index import Page
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs.disk.ledger_index import PAGE_COUNT

LEDGERS = (5, 7)
RUNS = st.lists(
    st.tuples(st.sampled_from(LEDGERS), st.integers(0, 3 * PAGE_COUNT), st.integers(1, PAGE_COUNT + 10)), max_size=12
)


class Stored:
    """Indexes in which every other entry, up to the last one, has a location; they note what is read."""

    def __init__(self, last_entry_id: int) -> None:
        self.last_entry_id = last_entry_id
        self.read: list[tuple[int, int, int, int]] = []

    def location(self, ledger_id: int, entry_id: int) -> int:
        return 0 if entry_id % 2 or entry_id > self.last_entry_id else ledger_id << 40 | entry_id + 1

    def read_page(self, ledger_id: int, number: int, count: int, first: int) -> Page:
        self.read.append((ledger_id, number, first, count))
        start = number * PAGE_COUNT + first
        end = min(start + count, self.last_entry_id + 1)
        return array("Q", [self.location(ledger_id, each) for each in range(start, end)])


@given(wanted=RUNS, last_entry_id=st.integers(0, 4 * PAGE_COUNT))
def test_all_that_is_found_has_what_the_indexes_say_and_no_page_is_read_twice_or_further(
    wanted: list[tuple[int, int, int]], last_entry_id: int
) -> None:
    runs = [EntryRun(ledger_id, first, b"", [0] * (count + 1)) for ledger_id, first, count in wanted]
    stored = Stored(last_entry_id)
    indexes: Any = stored
    locations = FoundLocations(indexes, runs)
    assert stored.read == []
    for run in runs:
        ids = range(run.first_entry_id, run.last_entry_id + 1)
        assert list(locations.of(run)) == [stored.location(run.ledger_id, each) for each in ids]
    assert len({each[:2] for each in stored.read}) == len(stored.read)
    for ledger_id, number, first, count in stored.read:
        start = number * PAGE_COUNT + first
        assert 0 <= first < first + count <= PAGE_COUNT
        of_ledger = [run for run in runs if run.ledger_id == ledger_id]
        for needed in start, start + count - 1:
            assert any(run.first_entry_id <= needed <= run.last_entry_id for run in of_ledger)

import pytest

from bookkeeper_tx.entry.entry_run import EntryRun, last_add_confirmed_of
from protocol_specs.fields import NO_ENTRY
from tests.bookie.seams import SCOPED, entry


@pytest.mark.parametrize(("ledger", "size"), [(7, 24), (SCOPED, 33)])
def test_an_entry_may_be_too_short_for_a_last_add_confirmed(ledger: int, size: int) -> None:
    whole = entry(5, size, ledger)
    assert last_add_confirmed_of(EntryRun.of_entries(ledger, 5, [whole])) == 4
    assert last_add_confirmed_of(EntryRun.of_entries(ledger, 5, [whole[:-1]])) == NO_ENTRY


@pytest.mark.parametrize("sizes", [[40] * 100, list(range(40, 140))])
def test_a_small_part_of_a_buffer_can_be_had_by_itself(sizes: list[int]) -> None:
    whole = EntryRun.of_entries(7, 0, [entry(index, size) for index, size in enumerate(sizes)])
    assert whole.by_itself() is whole
    if len(set(sizes)) == 1:
        whole = EntryRun(7, 0, whole.buffer, range(0, len(whole.buffer) + 1, 44))
    part = whole.part(30, 33)
    alone = part.by_itself()
    assert (alone.first_entry_id, alone.count, alone.size, [*alone]) == (30, 4, part.size, [*part])
    assert len(alone.buffer) == part.size

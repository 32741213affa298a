import pytest

from bookkeeper_tx.entry.entry_run import EntryRun, last_add_confirmed_of
from protocol_specs.fields import NO_ENTRY
from tests.bookie.seams import SCOPED, entry


@pytest.mark.parametrize(("ledger", "size"), [(7, 24), (SCOPED, 33)])
def test_an_entry_may_be_too_short_for_a_last_add_confirmed(ledger: int, size: int) -> None:
    whole = entry(5, size, ledger)
    assert last_add_confirmed_of(EntryRun.of_entries(ledger, 5, [whole])) == 4
    assert last_add_confirmed_of(EntryRun.of_entries(ledger, 5, [whole[:-1]])) == NO_ENTRY

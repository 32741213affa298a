from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.bookie.storage.ledger_ids import LedgerIds
from protocol_specs.ledger_id import join

IDS = st.one_of(st.integers(0, 200), st.integers(0, 2**63 - 1), st.builds(join, st.integers(-5, 5), st.integers(0, 70)))


@given(st.lists(IDS), st.lists(IDS))
def test_it_is_a_set(added: list[int], others: list[int]) -> None:
    ids = LedgerIds()
    for ledger_id in added:
        ids.add(ledger_id)
    assert len(ids) == len(set(added))
    assert all(ledger_id in ids for ledger_id in added)
    assert [each for each in (-1, *others) if each in ids] == [each for each in others if each in set(added)]


@given(st.lists(IDS), st.lists(IDS))
def test_ids_are_discarded_and_listed_ascending(added: list[int], discarded: list[int]) -> None:
    ids = LedgerIds()
    for ledger_id in added:
        ids.add(ledger_id)
    before = ids.ascending()
    for ledger_id in (*discarded, *added[::2]):
        ids.discard(ledger_id)
    assert list(before) == sorted(set(added))
    left = set(added) - set(discarded) - set(added[::2])
    assert list(ids.ascending()) == sorted(left)
    assert len(ids) == len(left)

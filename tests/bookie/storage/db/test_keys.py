from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.bookie.storage.db import keys
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.disk import db_index as spec
from protocol_specs.ledger_id import SCOPED_MIN, join, split
from tests.bookie.seams import SCOPED

LEDGERS = st.one_of(
    st.integers(0, 2**63 - 1),
    st.builds(join, st.integers(-(2**63), 2**63 - 1).filter(bool), st.integers(-(2**63), 2**63 - 1)),
)
ENTRIES = st.integers(0, 2**40)


def declared(ledger_id: int, entry_id: int) -> bytes:
    """Return the key of an entry, as the declaration has it."""
    scope_id, low = split(ledger_id)
    fields = {"scope_id": scope_id, "ledger_id": low, "entry_id": entry_id}
    built: bytes = (spec.SCOPED_LOCATION_KEY if ledger_id >= SCOPED_MIN else spec.LOCATION_KEY).build(fields)
    return built


@given(ledger_id=LEDGERS, entry_id=ENTRIES)
def test_keys_are_as_they_are_declared(ledger_id: int, entry_id: int) -> None:
    key = keys.location_key(ledger_id, entry_id)
    assert key == declared(ledger_id, entry_id)
    assert keys.entry_of(key) == entry_id
    assert keys.ledger_of(keys.ledger_key(ledger_id)) == ledger_id
    if ledger_id < SCOPED_MIN:
        assert keys.unscoped_ledger_of(keys.ledger_key(ledger_id)) == ledger_id
        assert keys.unscoped_ledger_of(keys.rebuilt_key(ledger_id)) == ledger_id
    else:
        assert keys.unscoped_ledger_of(keys.ledger_key(ledger_id)) in (None, ledger_id >> 64)
    assert key.startswith(keys.ledger_key(ledger_id))
    assert keys.location_key(ledger_id, 0) <= key < keys.end_of(ledger_id)


@given(first=st.tuples(LEDGERS, ENTRIES), second=st.tuples(LEDGERS, ENTRIES))
def test_keys_of_a_kind_are_ordered_as_ledgers_and_entries_are(first: tuple[int, int], second: tuple[int, int]) -> None:
    if (first[0] >= SCOPED_MIN) == (second[0] >= SCOPED_MIN):
        assert (keys.location_key(*first) < keys.location_key(*second)) == (first < second)


@given(ledger_id=LEDGERS, first=ENTRIES, locations=st.lists(st.integers(0, 2**63), max_size=40))
def test_many_keys_and_values_at_once_are_the_same(ledger_id: int, first: int, locations: list[int]) -> None:
    found = list(keys.location_keys(ledger_id, first, len(locations)))
    assert found == [keys.location_key(ledger_id, first + at) for at in range(len(locations))]
    values = list(keys.packed_locations(array("Q", locations)))
    assert values == [each.to_bytes(8, "big") for each in locations]
    items = list(zip(found, values, strict=True))
    assert list(keys.page_of_items(items, first, len(locations))) == list(keys.page_of_values(values)) == locations


@given(first=ENTRIES, present=st.lists(st.booleans(), max_size=40))
def test_a_page_has_zeros_for_what_is_absent(first: int, present: list[bool]) -> None:
    items = [
        (keys.location_key(7, first + at), (at + 1).to_bytes(8, "big")) for at, is_here in enumerate(present) if is_here
    ]
    expected = [at + 1 if is_here else 0 for at, is_here in enumerate(present)]
    assert list(keys.page_of_items(items, first, len(present))) == expected


@pytest.mark.parametrize("key", [b"", b"1234567", bytes(12), keys.STORAGE_STATE_KEY, b"\xff" * 8])
def test_what_is_not_the_key_of_a_ledger(key: bytes) -> None:
    assert keys.ledger_of(key) is None


def test_the_key_of_an_entry_is_none_of_a_ledger_of_scope_0() -> None:
    assert keys.ledger_of(keys.ledger_key(SCOPED)) == SCOPED
    assert keys.STORAGE_STATE_KEY.hex() == "ffffffffffff1103"


PLACE = (8).to_bytes(8, "big")


@pytest.mark.parametrize(
    "item",
    [
        (keys.location_key(7, 5) + b"\0", PLACE),
        (keys.location_key(7, 5)[:-1], PLACE),
        (keys.location_key(7, 5) + bytes(8), PLACE),
        (keys.location_key(7, 1024), PLACE),
        (keys.location_key(7, 5), PLACE[:3]),
        (keys.location_key(7, 5), PLACE * 2),
    ],
)
def test_what_is_not_the_location_of_an_entry_of_a_page_is_damage(item: tuple[bytes, bytes]) -> None:
    with pytest.raises(StorageFailed, match="damaged"):
        keys.page_of_items([item], 3, 1000)

"""128-bit ledger ids: two signed halves in one integer, and their names."""

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs import ledger_id as ids

HALVES = st.integers(-(2**63), 2**63 - 1)


@given(scope_id=HALVES.filter(bool), ledger_id=HALVES)
def test_both_halves_come_back(scope_id: int, ledger_id: int) -> None:
    joined = ids.join(scope_id, ledger_id)
    assert ids.SCOPED_MIN <= joined <= ids.QUALIFIED_ID_MAX
    assert ids.split(joined) == (scope_id, ledger_id)


@given(st.integers(0, 2**63 - 1))
def test_scope_0_changes_nothing(ledger_id: int) -> None:
    assert ids.join(0, ledger_id) == ledger_id
    assert ids.split(ledger_id) == (0, ledger_id)


@given(st.one_of(st.integers(0, 2**63 - 1), st.integers(ids.SCOPED_MIN, ids.QUALIFIED_ID_MAX)))
def test_a_name_has_32_digits_and_leads_back(value: int) -> None:
    name = ids.qualified_name(value)
    assert len(name) == ids.QUALIFIED_NAME_LENGTH
    assert ids.of_qualified_name(name) == value
    assert ids.of_qualified_name(name.upper()) == value


def test_the_name_is_the_uuid_without_dashes() -> None:
    value = uuid.UUID("8b1f0c2e-5d6a-4f3b-9c7d-0123456789ab")
    assert ids.qualified_name(value.int) == value.hex


@pytest.mark.parametrize("name", ["", "0" * 33, "xyz", "-1", "0x10", "1_0", " 1", "8" + "0" * 15, "\u0661"])
def test_what_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no qualified ledger name"):
        ids.of_qualified_name(name)

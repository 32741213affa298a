"""Ledger ids of 128 bits, and how messages call them."""

import pickle
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import LedgerId, check_ledger_id, ledger_name

INT64 = st.integers(-(2**63), 2**63 - 1)
NAME = "0123456789abcdeffedcba9876543210"


@given(INT64.filter(bool), INT64)
def test_both_halves_come_back(scope_id: int, ledger_id: int) -> None:
    whole = LedgerId(ledger_id, scope_id)
    assert (whole.scope_id, whole.ledger_id) == (scope_id, ledger_id)
    assert whole >= 2**64
    assert (
        LedgerId(whole)
        == LedgerId.of_name(whole.qualified_name)
        == LedgerId.of_uuid(UUID(whole.qualified_name))
        == whole
    )
    assert check_ledger_id(whole) is whole
    assert pickle.loads(pickle.dumps(whole)) == whole


@given(st.integers(0, 2**63 - 1))
def test_scope_0_is_the_number_itself(ledger_id: int) -> None:
    whole = LedgerId(ledger_id)
    assert (whole, whole.scope_id, whole.ledger_id) == (ledger_id, 0, ledger_id)
    assert {whole: 1}[ledger_id] == 1
    assert ledger_name(whole) == str(ledger_id)
    with pytest.raises(InvalidArgument, match="scope 0"):
        LedgerId.of_uuid(UUID(int=ledger_id))


def test_a_scoped_ledger_is_called_by_its_qualified_name() -> None:
    assert ledger_name(LedgerId.of_name(NAME)) == NAME
    assert ledger_name(LedgerId(-1, 1)) == "0000000000000001ffffffffffffffff"


@pytest.mark.parametrize(
    ("ledger_id", "scope_id"), [(-1, 0), (2**63, 0), (2**64 - 1, 0), (2**128, 0), (0, 2**63), (2**63, 1), (2**64, 1)]
)
def test_what_is_no_id(ledger_id: int, scope_id: int) -> None:
    with pytest.raises(InvalidArgument):
        LedgerId(ledger_id, scope_id)


@pytest.mark.parametrize("value", [1.5, "7", None, True])
def test_an_id_is_made_of_integers(value: Any) -> None:
    for halves in ((value, 1), (1, value)):
        with pytest.raises(InvalidArgument, match="integers"):
            LedgerId(*halves)


@pytest.mark.parametrize("name", ["", "g", NAME + "0", "8000000000000000", "ffffffffffffffff", " 1", "-1", "0x1"])
def test_what_is_no_qualified_name(name: str) -> None:
    with pytest.raises(InvalidArgument, match="qualified ledger name"):
        LedgerId.of_name(name)

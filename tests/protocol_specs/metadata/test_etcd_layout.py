"""protocol_specs.metadata.etcd_layout: the names of ledgers' keys."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs import ledger_id as ids
from protocol_specs.metadata.etcd_layout import ledger_id_of, ledger_name

ledger_ids = st.integers(0, 2**63 - 1) | st.integers(ids.SCOPED_MIN, ids.QUALIFIED_ID_MAX)


@given(ledger_ids)
def test_a_name_stands_for_one_id(ledger_id: int) -> None:
    assert ledger_id_of(ledger_name(ledger_id)) == ledger_id


@given(ledger_ids, ledger_ids)
def test_names_are_in_the_order_of_the_ids(one: int, other: int) -> None:
    assert (ledger_name(one) < ledger_name(other)) == (one < other)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "10",
        str(UUID(int=10)).replace("-", ""),
        str(UUID(int=10)).upper(),
        str(UUID(int=10)) + "\n",
        f"{{{UUID(int=10)}}}",
        str(UUID(int=2**63)),
        str(UUID(int=2**64 - 1)),
    ],
)
def test_what_is_no_name(name: str) -> None:
    assert ledger_id_of(name) is None

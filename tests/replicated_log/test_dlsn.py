"""Positions of records."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.replicated_log import DLSN

positions = st.builds(DLSN, st.integers(0, 10**12), st.integers(0, 2**62))


@given(positions)
def test_a_position_is_its_text(position: DLSN) -> None:
    assert DLSN.parse(str(position)) == position


@given(positions, positions)
def test_positions_are_in_the_order_of_the_log(one: DLSN, other: DLSN) -> None:
    assert (one < other) == (
        (one.log_segment_sequence_no, one.entry_id) < (other.log_segment_sequence_no, other.entry_id)
    )
    assert one < one.next() < DLSN(one.log_segment_sequence_no + 1, 0)


@pytest.mark.parametrize("text", ["", "3", "3:", ":3", "3:4:5", "-1:0", "a:b", "1 :2", "²:1", "1:" + "9" * 20])
def test_what_is_no_position(text: str) -> None:
    with pytest.raises(InvalidArgument, match="no position"):
        DLSN.parse(text)

"""Quorum arithmetic against its definition."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.quorums.quorum import Quorum, mask_of

SIZES = st.integers(1, 6).flatmap(
    lambda ensemble: st.integers(1, ensemble).flatmap(
        lambda write: st.tuples(st.just(ensemble), st.just(write), st.integers(1, write))
    )
)


def test_write_sets_of_the_protocol_document() -> None:
    quorum = Quorum(4, 3, 2)
    assert [quorum.write_set(entry_id) for entry_id in range(6)] == [
        (0, 1, 2),
        (1, 2, 3),
        (2, 3, 0),
        (3, 0, 1),
        (0, 1, 2),
        (1, 2, 3),
    ]
    assert quorum.striped
    assert quorum.absence_size == 2


@given(SIZES, st.sets(st.integers(0, 5)))
def test_covered_means_that_no_ack_quorum_lies_outside(sizes: tuple[int, int, int], answered: set[int]) -> None:
    quorum = Quorum(*sizes)
    silent = set(range(sizes[0])) - answered
    hidden = any(
        set(acks) <= silent
        for write_set in quorum.write_sets
        for acks in combinations(write_set, quorum.ack_quorum_size)
    )
    assert quorum.covered(mask_of(answered & set(range(sizes[0])))) is not hidden

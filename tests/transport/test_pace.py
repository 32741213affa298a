"""The figures that are kept of a bookie's answers."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.transport.pace import EVERY, FIRST, RECENT, SHORTEST_S, Pace


def took(pace: Pace, *seconds: float) -> None:
    for each in seconds:
        pace.took(each)


def test_a_bookie_that_nobody_knows_gets_the_longest_time() -> None:
    pace = Pace(longest_s=2.0)
    took(pace, *[0.1] * (FIRST - 1))
    assert (pace.speculation_s, pace.typical_s) == (2.0, None)
    took(pace, 0.1)
    assert (pace.speculation_s, pace.typical_s) == (0.1, 0.1)


def test_it_is_the_99th_percentile_of_the_last_answers() -> None:
    pace = Pace(longest_s=2.0)
    took(pace, *[1.0] * FIRST, *[0.3] * (RECENT - 2), *[1.5] * 2, *[0.2] * (EVERY * 4))
    assert pace.speculation_s == 0.2
    took(pace, 1.5, *[0.2] * (EVERY - 1))
    assert pace.speculation_s == 0.2, "one of 128"
    took(pace, 1.5, 1.4, *[0.2] * (EVERY - 2))
    assert (pace.speculation_s, pace.typical_s) == (1.5, 0.2), "three of 128"


def test_who_wants_to_know_is_told_of_new_figures() -> None:
    measured: list[None] = []
    pace = Pace(2.0, lambda: measured.append(None))
    took(pace, *[0.1] * (FIRST + 3 * EVERY - 1))
    assert len(measured) == 3


def test_without_speculation_no_read_is_slow() -> None:
    pace = Pace(longest_s=0)
    took(pace, *[0.1] * 1000)
    assert (pace.speculation_s, pace.connecting_s, pace.typical_s) == (inf, inf, 0.1)


@given(st.lists(st.floats(0, 100), max_size=300), st.floats(0.001, 10))
def test_it_is_within_its_bounds_whatever_the_bookie_does(seconds: list[float], longest_s: float) -> None:
    pace = Pace(longest_s)
    took(pace, *seconds)
    assert min(SHORTEST_S, longest_s) <= pace.speculation_s <= max(SHORTEST_S, longest_s)

"""bookkeeper_tx.bookie.metrics.summary: quantiles of the last minutes, within the width of a bucket."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.metrics.summary import QUANTILES, WINDOW_S, Outcomes, Summary

WIDTH = 1.06


def at(summary: Summary, quantile: float) -> float:
    return summary.quantiles()[QUANTILES.index(quantile)]


@given(st.lists(st.floats(0.001, 1e6), min_size=1, max_size=300))
def test_a_quantile_is_as_exact_as_a_bucket_is_wide(values: list[float]) -> None:
    summary = Summary(lambda: 0.0)
    for value in values:
        summary.observe(value)
    ordered = sorted(values)
    for quantile in QUANTILES:
        exact = ordered[max(math.ceil(quantile * len(values)) - 1, 0)]
        assert exact / WIDTH <= at(summary, quantile) <= exact * WIDTH
    assert summary.count == len(values)
    assert summary.sum == pytest.approx(sum(values))


def test_a_weight_counts_as_many_values() -> None:
    summary = Summary(lambda: 0.0)
    summary.observe(1, weight=99)
    summary.observe(1000)
    assert at(summary, 0.99) < 2
    assert at(summary, 0.999) > 900
    assert (summary.count, summary.sum, summary.mean) == (100, 1099, 10.99)


def test_without_values_there_are_no_quantiles() -> None:
    summary = Summary(lambda: 0.0)
    assert all(math.isnan(each) for each in summary.quantiles())
    assert summary.mean == 0
    summary.observe(0)
    assert at(summary, 1.0) == pytest.approx(0.001, rel=0.1)


def test_old_values_leave_the_quantiles_and_not_the_sum() -> None:
    clock = Clock()
    summary = Summary(clock.seconds)
    summary.observe(500)
    found = []
    for _ in range(3):
        found.append(at(summary, 0.5))
        clock.advance(WINDOW_S)
    assert [math.isnan(each) for each in found] == [False, False, True]
    assert (summary.count, summary.sum) == (1, 500)


def test_values_wait_for_somebody_to_ask() -> None:
    clock = Clock()
    summary = Summary(clock.seconds)
    clock.advance(10 * WINDOW_S)
    summary.observe(500)
    clock.advance(10 * WINDOW_S)
    assert at(summary, 0.5) == pytest.approx(500, rel=0.06)


def test_what_failed_is_apart() -> None:
    seconds: Callable[[], float] = lambda: 0.0  # noqa: E731
    outcomes = Outcomes(seconds)
    outcomes.observe(5, succeeded=True, weight=3)
    outcomes.observe(7, succeeded=False)
    assert (outcomes.succeeded.count, outcomes.failed.count) == (3, 1)

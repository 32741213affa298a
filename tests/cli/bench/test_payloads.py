"""The payloads of the bench."""

import pytest

from bookkeeper_tx.cli.bench.payloads import (
    DIFFERENT,
    DIFFERENT_BYTES_MAX,
    EQUAL,
    MIXED,
    PAYLOAD_BYTES_MAX,
    SIZES,
    VARIABLE,
    payload_lengths,
    payloads,
    payloads_of,
    total_size,
)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("count", [1, DIFFERENT, 2 * DIFFERENT + 5])
def test_total_size_is_that_of_the_payloads(count, sizes):
    assert total_size(count, payload_lengths(100, sizes)) == sum(map(len, payloads(count, 100, sizes)))


def test_equal_sizes_are_equal():
    assert set(payload_lengths(100, EQUAL)) == {100}


def test_variable_sizes_lie_within_half_of_the_mean():
    lengths = payload_lengths(100, VARIABLE)
    assert min(lengths) == 50
    assert max(lengths) == 150
    assert sum(lengths) / len(lengths) == pytest.approx(100, abs=3)


def test_mixed_sizes_are_mostly_small_and_some_large():
    lengths = sorted(payload_lengths(1000, MIXED))
    assert lengths[len(lengths) // 2] < 750
    assert lengths[-1] > 5000
    assert sum(lengths) / len(lengths) == pytest.approx(1000, rel=0.1)


@pytest.mark.parametrize("sizes", SIZES)
def test_large_payloads_are_few_and_fit_into_a_frame(sizes):
    lengths = payload_lengths(PAYLOAD_BYTES_MAX, sizes)
    assert len(lengths) == DIFFERENT_BYTES_MAX // PAYLOAD_BYTES_MAX
    assert max(lengths) <= PAYLOAD_BYTES_MAX


def test_they_are_the_same_in_every_run_and_differ_from_each_other():
    assert payload_lengths(100, VARIABLE) == payload_lengths(100, VARIABLE)
    made = payloads_of([100] * 10)
    assert made == payloads_of([100] * 10)
    assert len(set(made)) == 10

"""The payloads of the bench."""

import pytest

from bookkeeper_tx.cli.bench.payloads import DIFFERENT, payloads, total_size


@pytest.mark.parametrize("variable", [False, True])
@pytest.mark.parametrize("count", [1, DIFFERENT, 2 * DIFFERENT + 5])
def test_total_size_is_that_of_the_payloads(count, variable):
    assert total_size(count, 100, variable) == sum(map(len, payloads(count, 100, variable)))


def test_equal_sizes_are_equal():
    assert {len(payload) for payload in payloads(2000, 100, variable=False)} == {100}


def test_variable_sizes_lie_within_half_of_the_mean():
    lengths = [len(payload) for payload in payloads(DIFFERENT, 100, variable=True)]
    assert min(lengths) == 50
    assert max(lengths) == 150
    assert sum(lengths) / len(lengths) == pytest.approx(100, abs=3)


def test_they_are_the_same_in_every_run():
    assert list(payloads(10, 100, variable=True)) == list(payloads(10, 100, variable=True))

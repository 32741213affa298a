from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.sampling import FULL, SAMPLED, examples, in_turn, one_in, only, stride


def _plain(parameters: list[Any]) -> list[Any]:
    """Those that are not marked ``full``."""
    return [each for each in parameters if not isinstance(each, type(pytest.param()))]


def _all(parameters: list[Any]) -> list[Any]:
    return [each.values[0] if isinstance(each, type(pytest.param())) else each for each in parameters]


def test_one_in_three_begins_with_the_first() -> None:
    values = list(range(8))
    assert _plain(one_in(3, values)) == [0, 3, 6]
    assert _all(one_in(3, values)) == values
    assert _plain(one_in(3, values, first=1)) == [1, 4, 7]


def test_only_what_is_chosen() -> None:
    assert _plain(only("b", ["a", "b", "c"])) == ["b"]
    assert _all(only("b", ["a", "b", "c"])) == ["a", "b", "c"]


def test_cases_take_values_in_turn() -> None:
    parameters = in_turn([("v2",), ("v3",), ("v4",)], "ab", first=1)
    assert _plain(parameters) == [("v2", "b"), ("v3", "a"), ("v4", "b")]
    assert len(parameters) == 6


def test_a_choice_that_is_no_value_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="'d' is none of"):
        only("d", ["a", "b", "c"])


def test_left_out_values_run_in_the_full_run_with_all_their_parts() -> None:
    _, left_out = one_in(2, [("bookie", 1), ("client", 2)])
    assert left_out.values == ("client", 2)
    assert [mark.name for mark in left_out.marks] == ["full"]


@pytest.fixture
def before() -> Iterator[None]:
    """Put back the profile of this run in the end."""
    name = FULL if stride() == 1 else SAMPLED
    yield
    settings.load_profile(name)


@pytest.mark.usefixtures("before")
@pytest.mark.parametrize(
    ("profile", "taken", "apart"), [(FULL, [400, 60, 10], 1), (SAMPLED, [80, 15, 10], 5)], ids=["full", "plain"]
)
def test_the_plain_run_takes_fewer_examples_and_longer_steps(profile: str, taken: list[int], apart: int) -> None:
    settings.load_profile(profile)
    assert [examples(count) for count in (400, 60, 10)] == taken
    assert stride() == apart

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.spark.options.id_ranges import IdRanges

IDS = st.sets(st.integers(0, 40) | st.integers(2**64 - 3, 2**64 + 3) | st.integers(2**127, 2**128 - 1))


@given(IDS, IDS)
def test_it_is_a_set(one: set[int], other: set[int]) -> None:
    first, second = IdRanges.of(one), IdRanges.of(other)
    assert first | second == IdRanges.of(one | other)
    assert first - second == IdRanges.of(one - other)
    assert all((each in first) == (each in one) for each in one | other)
    assert bool(first) == bool(one)
    assert first.last == max(one, default=-1)


@given(IDS)
def test_text_goes_and_comes_back(ids: set[int]) -> None:
    assert IdRanges.of_text(IdRanges.of(ids).text) == IdRanges.of(ids)
    assert IdRanges.of_steps(IdRanges.of(ids).steps) == IdRanges.of(ids)


def test_steps_are_what_lies_between() -> None:
    assert IdRanges.of([1, 5, 6, 7, 8, 9]).steps == "1,3-4"
    assert IdRanges.of([0]).steps == "0"
    assert IdRanges().steps == ""
    far = 2**62
    assert IdRanges.of([far, far + 2, far + 4]).steps == f"{far},1,1"
    for text in ("-1", "1-", "1,,2", "x", "1 "):
        with pytest.raises(ValueError, match="is no step"):
            IdRanges.of_steps(text)


@given(st.sets(st.integers(0, 60)))
def test_missing_are_those_below_the_highest(ids: set[int]) -> None:
    assert IdRanges.of(ids).missing() == IdRanges.of(set(range(max(ids, default=0))) - ids)


def test_neighbours_are_one_range() -> None:
    assert IdRanges.of([5, 3, 4, 9]).text == "3-5,9"
    assert IdRanges().text == ""


@pytest.mark.parametrize("text", ["a", "1,", "5-3", "-1", "1-", "1 ,2", "٣"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"id|ends before"):
        IdRanges.of_text(text)

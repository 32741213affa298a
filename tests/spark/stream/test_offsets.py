import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.model import LedgerId
from bookkeeper_tx.spark.options.id_ranges import IdRanges
from bookkeeper_tx.spark.stream.offsets import StreamOffset

IDS = st.integers(0, 12) | st.integers(2**63 - 2, 2**63 - 1) | st.integers(2**64, 2**128 - 1)


FEW_IDS = st.integers(0, 3)
"""Few values, so that two offsets are often equal."""


@st.composite
def offsets(draw: st.DrawFn, ids: st.SearchStrategy[int] = IDS, most: int = 2**63) -> StreamOffset:
    states = draw(st.dictionaries(ids, st.sampled_from(["finished", "open", "closed"])))
    of_state = {name: [each for each in states if states[each] == name] for name in ("finished", "open", "closed")}
    position = st.integers(0, most)
    return StreamOffset(
        IdRanges.of(of_state["finished"]),
        {each: draw(position) for each in of_state["open"]},
        {each: draw(position) for each in of_state["closed"]},
    )


def text_of(offset: StreamOffset) -> str:
    """Return the text that Spark compares."""
    return json.dumps(offset.to_json())


def meaning(offset: StreamOffset, ids: set[int]) -> dict[int, Any]:
    return {each: (offset.position(each), each in offset.closed, each in offset.finished) for each in ids}


@given(offsets())
def test_json_goes_and_comes_back(offset: StreamOffset) -> None:
    found = StreamOffset.of_json(json.loads(text_of(offset)))
    assert found == offset
    assert text_of(found) == text_of(offset)


@given(offsets())
def test_what_version_1_has_written_is_read(offset: StreamOffset) -> None:
    unread = IdRanges.of_steps(offset.to_json()["unread"])
    assert StreamOffset.of_json({**offset.to_json(), "unread": unread.text, "v": 1}) == offset


@given(offsets(FEW_IDS, 1), offsets(FEW_IDS, 1))
def test_texts_are_equal_if_and_only_if_offsets_are(one: StreamOffset, other: StreamOffset) -> None:
    ids = {*one.open, *one.closed, *other.open, *other.closed}
    ids |= {edge for each in (one, other) for pair in each.finished.ranges for edge in (*pair, pair[1] + 1)}
    same = meaning(one, ids) == meaning(other, ids)
    assert same == (text_of(one) == text_of(other))


def test_equal_offsets_made_in_other_orders_have_one_text() -> None:
    one = StreamOffset(IdRanges([(0, 3), (4, 6)]), {9: 5, 12: 1}, {7: 8, 100: 3})
    other = StreamOffset(IdRanges([(5, 6), (0, 4)]), {12: 1, 20: 0, 9: 5}, {100: 3, 7: 8})
    assert text_of(one) == text_of(other)


def test_the_form_is_the_documented_one() -> None:
    offset = StreamOffset(IdRanges.of([0, 1, 2, 4, 6]), {9: 250}, {7: 1000})
    assert json.dumps(offset.to_json(), separators=(",", ":")) == (
        '{"closed":{"7":1000},"closedThrough":6,"open":{"9":250},"unread":"3,1","v":2}'
    )
    first = '{"closed":{"7":1000},"closedThrough":6,"open":{"9":250},"unread":"3,5","v":1}'
    assert StreamOffset.of_json(json.loads(first)) == offset


def test_a_stream_that_did_not_begin() -> None:
    empty = StreamOffset()
    assert empty.to_json() == {"closed": {}, "closedThrough": -1, "open": {}, "unread": "", "v": 2}
    assert not empty.is_finished(0)
    assert empty.position(0) == 0


def test_ids_of_128_bits_are_numbers() -> None:
    scoped = LedgerId(-1, -1)
    offset = StreamOffset(IdRanges.of([LedgerId(3, 5)]), {scoped: 4})
    assert offset.to_json()["open"] == {str(2**128 - 1): 4}
    assert StreamOffset.of_json(json.loads(text_of(offset))).position(scoped) == 4


def test_a_hundred_thousand_ledgers_in_a_row_are_a_few_bytes() -> None:
    assert len(text_of(StreamOffset(IdRanges([(0, 10**5)]), {10**5 + 1: 7}))) < 100


def test_gaps_are_a_few_bytes_however_large_the_ids() -> None:
    every_fourth = StreamOffset(IdRanges.of(range(2**62, 2**62 + 40_000, 4)))
    assert len(text_of(every_fourth)) < 10_000 * 4 + 200


GOOD: dict[str, Any] = {"closed": {}, "closedThrough": 6, "open": {"9": 250}, "unread": "3,1", "v": 2}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"v": 3}, "version 3"),
        ({"v": True}, "version True"),
        ({"v": 1}, "not in its one form"),
        ({"v": None}, "version None"),
        ({"closedThrough": -2}, "closedThrough is -2"),
        ({"closedThrough": True}, "closedThrough is True"),
        ({"closedThrough": 5}, "not in its one form"),
        ({"open": {"9": -1}}, "position in ledger 9 is -1"),
        ({"open": {"9": 0}}, "not in its one form"),
        ({"open": {"09": 4}}, "not in its one form"),
        ({"open": {"9": 1.5}}, "position in ledger 9 is 1.5"),
        ({"open": {"x": 1}}, "invalid literal"),
        ({"open": []}, "makes no sense"),
        ({"closed": {"9": 250}}, "open and closed at once"),
        ({"unread": "3,0"}, "not in its one form"),
        ({"unread": "3,5-"}, "is no step"),
        ({"unread": "3,5", "v": 1, "closed": {"6": 1}}, "not in its one form"),
        ({"unread": "5,3", "v": 1}, "not in its one form"),
        ({"unread": "3,5-", "v": 1}, "no range of ids"),
        ({"unread": 7}, "makes no sense"),
        ({"more": 1}, "its keys are"),
    ],
)
def test_other_json_is_refused_and_says_what_to_do(change: dict[str, Any], says: str) -> None:
    assert StreamOffset.of_json(GOOD).position(9) == 250
    with pytest.raises(InvalidArgument, match="checkpointLocation") as caught:
        StreamOffset.of_json({**GOOD, **change})
    assert says in str(caught.value)


def test_a_missing_key_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="its keys are"):
        StreamOffset.of_json({key: value for key, value in GOOD.items() if key != "open"})


def test_a_ledger_is_in_one_place() -> None:
    with pytest.raises(InvalidArgument, match="open and closed at once"):
        StreamOffset(IdRanges(), {1: 1}, {1: 1})
    with pytest.raises(InvalidArgument, match="finished, and open"):
        StreamOffset(IdRanges.of([1]), {1: 1})

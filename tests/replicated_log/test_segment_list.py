"""The list of a log's ledgers, as a value."""

import json
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import MetadataCorrupt
from bookkeeper_tx.replicated_log import segment_list
from bookkeeper_tx.replicated_log.segment_list import CHUNK_COUNT, LogSegment, SegmentList, at_time, parse, serialize

ADD, TRUNCATE, DELETE = "add", "truncate", "delete"

steps = st.lists(
    st.one_of(
        st.tuples(st.just(ADD), st.integers(1, 200), st.integers(-5, 1000)),
        st.tuples(st.just(TRUNCATE), st.floats(0, 1), st.none()),
        st.tuples(st.just(DELETE), st.none(), st.none()),
    ),
    max_size=25,
)


class Model:
    """A list, its chunks, and all ledgers that it ever had."""

    def __init__(self) -> None:
        self.list = SegmentList()
        self.chunks: dict[int, tuple[LogSegment, ...]] = {}
        self.all: list[LogSegment] = []

    def add(self, now_ms: int) -> None:
        full = self.list.full_chunk
        if full:
            number = segment_list.chunk_of(full[0].log_segment_sequence_no)
            assert number not in self.chunks
            record = segment_list.serialize_chunk(full)
            self.chunks[number] = segment_list.parse_chunk(record, number, "log")
        self.list = self.list.with_ledger(10**30 + len(self.all), now_ms)
        assert self.list.last is not None
        self.all.append(self.list.last)


@given(steps)
def test_the_list_has_every_ledger_once_in_order_and_stays_small(steps: list[Any]) -> None:
    model, now_ms = Model(), 0
    for step, argument, later_ms in steps:
        if step == ADD:
            for _ in range(argument):
                now_ms += later_ms
                model.add(max(0, now_ms))
        elif step == TRUNCATE:
            model.list = model.list.truncated(int(argument * max(0, model.list.next_sequence_no - 1)))
        else:
            model.list = evolve(model.list, deleted_end=model.list.first_sequence_no)
        assert parse(serialize(model.list), "log") == model.list
        assert len(model.list.segments) <= 2 * CHUNK_COUNT
        assert len(serialize(model.list)) < 20_000
        chunked = [each for number in sorted(model.chunks) for each in model.chunks[number]]
        assert [*chunked, *model.list.segments] == model.all
        assert len(chunked) == model.list.chunked_end
        assert [each.log_segment_sequence_no for each in model.all] == list(range(len(model.all)))
        times = [each.ctime_ms for each in model.all]
        assert times == sorted(times)
        assert model.list.last_two == tuple(model.all[model.list.first_sequence_no :][-2:])


@given(st.lists(st.integers(0, 50), max_size=30).map(sorted), st.integers(-1, 51))
def test_the_ledger_of_a_time_is_the_last_that_was_there(times: list[int], time_ms: int) -> None:
    segments = [LogSegment(number, number, each) for number, each in enumerate(times)]
    before = [each for each in segments if each.ctime_ms <= time_ms]
    assert at_time(segments, time_ms) == (before[-1] if before else None)


def test_ten_thousand_ledgers_keep_the_record_small() -> None:
    model = Model()
    for number in range(10_000):
        model.add(1_700_000_000_000 + number)
    assert len(serialize(model.list)) < 16_000
    assert len(model.chunks) == (10_000 - len(model.list.segments)) // CHUNK_COUNT


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"next": "x"},
        {"next": 5},
        {"first": 3},
        {"deleted": 1},
        {"segments": [[1]]},
        {"segments": 7},
        {"segments": None},
    ],
)
def test_records_that_make_no_sense_are_refused(change: dict[str, Any]) -> None:
    record = json.loads(serialize(SegmentList().with_ledger(1, 2).with_ledger(3, 4)))
    with pytest.raises(MetadataCorrupt, match="list of ledgers of log orders"):
        parse(json.dumps({**record, **change}).encode(), "orders")


@pytest.mark.parametrize("record", [b"", b"[]", b"{}", b"\xff", b"null"])
def test_what_is_no_record_is_refused(record: bytes) -> None:
    with pytest.raises(MetadataCorrupt):
        parse(record, "orders")
    with pytest.raises(MetadataCorrupt):
        segment_list.parse_chunk(record, 0, "orders")


def test_a_chunk_is_full() -> None:
    with pytest.raises(MetadataCorrupt, match="chunk 0 has 1 ledgers"):
        segment_list.parse_chunk(segment_list.serialize_chunk([LogSegment(0, 1, 2)]), 0, "orders")

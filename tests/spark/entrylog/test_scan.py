"""Walking entry logs: all records of a good log; all records before the damage of a torn one, and the damage."""

from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from bookkeeper_tx.entry import entry_log_scan
from bookkeeper_tx.entry.entry_log_scan import Problem
from bookkeeper_tx.spark.entrylog.scan import Records, scan
from protocol_specs.disk import entry_log as spec
from tests.entry.entry_logs import direct_log_of, log_of, offsets_of, reader, record
from tests.sampling import examples
from tests.spark.entrylog.entry_logs import scanned

PAYLOADS = st.one_of(
    st.lists(st.binary(max_size=60), max_size=40),
    st.builds(lambda payload, count: [payload] * count, st.binary(max_size=40), st.integers(0, 300)),
)
"""Records of any size, and many of one size, which are walked together."""


def records_of(payloads: list[bytes]) -> list[bytes]:
    return [record(5, entry_id, payload) for entry_id, payload in enumerate(payloads)]


RUNS = st.lists(PAYLOADS, max_size=3).map(lambda runs: records_of([payload for run in runs for payload in run]))
CHUNKS = st.sampled_from([64, 1000, 1 << 20])


@settings(max_examples=examples(60), deadline=None)
@given(records=RUNS, chunk=CHUNKS)
def test_every_record_is_found_once(records: list[bytes], chunk: int) -> None:
    with patch.object(entry_log_scan, "CHUNK_SIZE", chunk):
        assert scanned(log_of(records)) == (offsets_of(records), [])


@settings(max_examples=examples(120), deadline=None)
@given(records=RUNS, chunk=CHUNKS, data=st.data())
def test_a_cut_leaves_the_whole_records_before_it_and_one_problem(
    records: list[bytes], chunk: int, data: st.DataObject
) -> None:
    log = log_of(records)
    cut = data.draw(st.integers(spec.HEADER_SIZE, len(log)))
    whole = [row for row in offsets_of(records) if sum(row) <= cut]
    end = sum(whole[-1]) if whole else spec.HEADER_SIZE
    with patch.object(entry_log_scan, "CHUNK_SIZE", chunk):
        rows, problems = scanned(log[:cut])
    assert rows == whole
    assert [(each.offset, each.size) for each in problems] == ([(end, cut - end)] if cut > end else [])


@settings(max_examples=examples(120), deadline=None)
@given(records=RUNS, chunk=CHUNKS, data=st.data())
def test_parts_have_all_records_together(records: list[bytes], chunk: int, data: st.DataObject) -> None:
    log = log_of(records)[: data.draw(st.integers(spec.HEADER_SIZE, len(log_of(records))))]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(log)), max_size=4)))
    with patch.object(entry_log_scan, "CHUNK_SIZE", chunk):
        parts: list[Any] = [scanned(log, *part) for part in zip([0, *cuts], [*cuts, None], strict=True)]
        whole = scanned(log)
    assert ([row for rows, _ in parts for row in rows], [each for _, found in parts for each in found]) == whole


@settings(max_examples=examples(120), deadline=None)
@given(records=RUNS, data=st.data())
def test_nothing_that_is_in_a_file_raises(records: list[bytes], data: st.DataObject) -> None:
    log = bytearray(log_of(records) + b"\0" * 4)
    at = data.draw(st.integers(spec.HEADER_SIZE, len(log) - 1))
    log[at] ^= data.draw(st.integers(1, 255))
    rows, problems = scanned(bytes(log))
    before = [row for row in offsets_of(records) if sum(row) <= at]
    assert rows[: len(before)] == before
    assert len(problems) <= 1 or all("not shown" in each.text for each in problems[:-1])


def test_logs_of_direct_io_have_filler() -> None:
    flushes = [records_of([b"one", b"two"]), records_of([b"x" * 100] * 100), records_of([b"y" * 4000])]
    log = direct_log_of(flushes)
    rows, problems = scanned(log)
    assert problems == []
    assert rows[0] == (spec.HEADER_SIZE, 4096 - spec.HEADER_SIZE)
    assert rows[1:3] == offsets_of(flushes[0], 4096)
    assert rows[3:103] == offsets_of(flushes[1], 8192)
    assert rows[103:] == offsets_of(flushes[2], 24576)
    assert len(log) == 28672


def test_a_log_may_end_within_filler() -> None:
    records = records_of([b"one"])
    log = direct_log_of([records])
    for cut in (4096 + len(records[0]) + 1, len(log) - 1, len(log)):
        assert scanned(log[:cut])[1] == []


def test_filler_with_other_bytes_in_it_is_damage() -> None:
    log = bytearray(direct_log_of([records_of([b"one"]), records_of([b"two"])]))
    log[8000] = 0
    rows, problems = scanned(bytes(log))
    assert len(rows) == 2
    assert "cannot have" in problems[0].text


def test_zeros_at_the_end_are_told_from_zeros_before_other_bytes() -> None:
    records = records_of([b"one"])
    log = log_of(records)
    rows, problems = scanned(log + b"\0" * 100)
    assert rows == offsets_of(records)
    assert problems == [Problem(len(log), 100, problems[0].text)]
    assert "100 zeros up to the end" in problems[0].text
    assert f"from offset {len(log) + 100}" in scanned(log + b"\0" * 100 + b"x")[1][0].text


def test_a_record_that_is_too_large_is_stepped_over() -> None:
    records = records_of([b"one", b"x" * 500, b"three"])
    with patch.object(entry_log_scan, "RECORD_SIZE_MAX", 200), patch.object(entry_log_scan, "CHUNK_SIZE", 300):
        rows, problems = scanned(log_of(records))
    offsets = offsets_of(records)
    assert rows == [offsets[0], offsets[2]]
    assert [(each.offset, each.size) for each in problems] == [offsets[1]]


def test_a_file_that_is_cut_while_it_is_read_has_ended_there() -> None:
    records = records_of([b"x" * 100] * 10)
    log = log_of(records)
    found = list(scan(reader(log[:-10]), len(log)))
    assert isinstance(found[0], Records)
    assert len(found[0].starts) == 9
    assert isinstance(found[1], Problem)

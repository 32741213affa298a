"""bookkeeper_tx.bookie.storage.limits: what may be stored, and that no refusal takes other adds with it."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bookkeeper_tx.bookie.storage.limits import INDEXED_ENTRY_ID_MAX, check_ids, is_whole
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import BadRequest
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import Answered
from protocol_specs.wire import v3_pb2
from tests.bookie.seams import KEY, LEDGER, entry, run_of
from tests.protocol.bookie.v3_frames import frame_of


@given(st.integers(-3, 3), st.lists(st.integers(16, 40), min_size=1, max_size=8))
def test_a_run_is_whole_when_each_entry_is(first: int, sizes: list[int]) -> None:
    offsets = [0]
    for size in sizes:
        offsets.append(offsets[-1] + 4 + size)
    run = EntryRun(LEDGER, first, bytes(offsets[-1]), offsets)
    assert is_whole(run) == (first >= 0 and all(size >= 24 for size in sizes))


@given(st.integers(16, 40), st.integers(1, 5))
def test_a_run_of_equal_entries_is_judged_by_one(size: int, count: int) -> None:
    step = size + 4
    run = EntryRun(LEDGER, 0, bytes(step * count), range(0, step * count + 1, step))
    assert is_whole(run) == (size >= 24)


@pytest.mark.parametrize("first", [0, INDEXED_ENTRY_ID_MAX - 1])
def test_ids_that_the_index_can_hold(first: int) -> None:
    check_ids(run_of(first, 41, 41))


@pytest.mark.parametrize("first", [-1, INDEXED_ENTRY_ID_MAX, INDEXED_ENTRY_ID_MAX + 1])
def test_ids_that_the_index_cannot_hold(first: int) -> None:
    with pytest.raises(BadRequest):
        check_ids(run_of(first, 41, 41))


def v2_add(body: bytes) -> bytes:
    return bytes.fromhex("02010000") + KEY + body


def v3_add(body: bytes) -> bytes:
    part = v3_pb2.AddRequest(ledger_id=LEDGER, entry_id=0, master_key=KEY, body=body)
    return frame_of(2, add_request=part)


@pytest.mark.parametrize("add", [v2_add, v3_add])
@given(first=st.integers(-4, 3), sizes=st.lists(st.sampled_from([20, 24, 41]), min_size=1, max_size=12))
@example(first=0, sizes=[20] * 8)
def test_an_add_that_is_not_whole_shares_its_run_with_no_other(
    add: Callable[[bytes], bytes], first: int, sizes: list[int]
) -> None:
    frames = [add(entry(first + at, 41)[:size]) for at, size in enumerate(sizes)]
    requests: list[Any] = ServerConnection().receive(b"".join(len(each).to_bytes(4, "big") + each for each in frames))
    alone = [request for request in requests if isinstance(request, Answered)]
    runs = [request.entries for request in requests if not isinstance(request, Answered)]
    assert sum(run.count for run in runs) + len(alone) == len(sizes)
    assert all(run.count == 1 for run in runs if not is_whole(run))
    whole = {first + at for at, size in enumerate(sizes) if first + at >= 0 and size >= 24}
    stored = [range(run.first_entry_id, run.last_entry_id + 1) for run in runs if is_whole(run)]
    assert {entry_id for ids in stored for entry_id in ids} == whole

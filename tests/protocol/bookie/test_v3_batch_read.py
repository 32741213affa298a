"""bookkeeper_tx.protocol.bookie.v3_batch_read: the messages of BP-62, and frames that keep to the limit."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.protocol.bookie import v3, v3_batch_read
from bookkeeper_tx.protocol.bookie.requests import Answered
from protocol_specs import fields
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.status import Status
from tests.protocol.bookie.v3_frames import KEY, decode, response

FLAGS = v3_pb2.BatchReadRequest


def request_of(**part: Any) -> v3.BatchReadRequest:
    part = {"ledger_id": 9, "start_entry_id": 4, "max_count": 5, "max_size": 1000, **part}
    request = decode(12, batch_read_request=v3_pb2.BatchReadRequest(**part))
    assert isinstance(request, v3.BatchReadRequest)
    return request


def records(*entries: bytes) -> bytes:
    return b"".join(len(entry).to_bytes(4, "big") + entry for entry in entries)


def part_of(request: v3.BatchReadRequest, *slices: Any) -> Any:
    answered = response(b"".join(bytes(part) for part in request.reply(slices, 8)))
    assert (answered.status, answered.header.operation, answered.header.txn_id) == (0, 12, 7)
    return answered.batch_read_response


def test_a_plain_batch() -> None:
    request = request_of()
    assert (request.ledger_id, request.start_entry_id, request.max_count, request.max_size) == (9, 4, 5, 1000)
    assert (request.fencing, request.master_key, request.previous_last_add_confirmed) == (False, None, None)


def test_a_batch_is_answered_with_its_entries_and_the_last_add_confirmed() -> None:
    part = part_of(request_of(), records(b"a", b"bc"), memoryview(records(b"", b"d" * 200)))
    assert (part.status, part.ledger_id, part.start_entry_id, part.max_lac) == (0, 9, 4, 8)
    assert list(part.body) == [b"a", b"bc", b"", b"d" * 200]
    assert not part.HasField("ledger_scope_id")
    assert not part.HasField("lac_update_timestamp")
    assert response(request_of().reply([], 8, 1234)[0]).batch_read_response.lac_update_timestamp == 1234


@pytest.mark.parametrize("status", [statuses.ENOENTRY, statuses.EUA, statuses.EIO])
def test_an_error_has_no_entries(status: Status) -> None:
    answered = response(request_of().error(status))
    part = answered.batch_read_response
    assert (answered.status, part.status, part.ledger_id, part.start_entry_id) == (status.v3, status.v3, 9, 4)
    assert (len(part.body), part.HasField("max_lac")) == (0, False)


@pytest.mark.parametrize("key", [None, KEY])
def test_a_fencing_batch_has_its_key_or_none_waits_for_nothing_and_tells_nothing(key: bytes | None) -> None:
    request = request_of(flag=FLAGS.FENCE_LEDGER, master_key=key, previous_lac=1, time_out=5)
    assert (request.fencing, request.master_key, request.previous_last_add_confirmed) == (True, key, None)
    assert not part_of(request, records(b"a")).HasField("max_lac")


@pytest.mark.parametrize("flag", [None, FLAGS.ENTRY_PIGGYBACK])
def test_a_batch_may_wait_for_the_last_add_confirmed(flag: Any) -> None:
    request = request_of(previous_lac=fields.NO_ENTRY, time_out=300, flag=flag)
    assert (request.previous_last_add_confirmed, request.timeout_ms) == (fields.NO_ENTRY, 300)
    assert request_of(previous_lac=3).timeout_ms == 0


@pytest.mark.parametrize("version", [1, 2, 3])
def test_without_its_part_it_is_answered_as_java_answers(version: int) -> None:
    request = decode(12, version=version, priority=9)
    assert isinstance(request, Answered)
    answered = response(request.reply)
    assert (answered.status, len(answered.ListFields()), answered.header.priority) == (404, 2, 9)


def test_the_scope_comes_back_where_there_is_one() -> None:
    request = request_of(ledger_scope_id=-3)
    assert request.ledger_id == ((2**64 - 3) << 64) + 9
    assert part_of(request, records(b"a")).ledger_scope_id == -3
    assert response(request.error(statuses.ENOLEDGER)).batch_read_response.ledger_scope_id == -3


IDS = st.integers(-(2**63), 2**63 - 1)
SIZES = st.lists(st.integers(0, 400) | st.sampled_from([127, 128, 16383, 16384, 2**21 - 1, 2**21]), max_size=8)


@given(IDS, IDS, IDS, st.integers(0, 2**64 - 1), SIZES)
def test_a_frame_exceeds_the_lengths_of_its_records_by_no_more_than_is_allowed_for(
    ledger_id: int, scope_id: int, start_entry_id: int, txn_id: int, sizes: list[int]
) -> None:
    part = v3_pb2.BatchReadRequest(
        ledger_id=ledger_id, start_entry_id=start_entry_id, max_count=1, max_size=1, ledger_scope_id=scope_id
    )
    request = decode(12, txn_id=txn_id, batch_read_request=part)
    slices = [records(bytes(size)) for size in sizes]
    (frame,) = request.reply(slices, fields.NO_ENTRY)
    stored = sum(map(len, slices))
    assert len(frame) <= stored + v3_batch_read.reply_overhead_max(len(frame))

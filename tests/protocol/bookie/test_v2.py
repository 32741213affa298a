"""Protocol version V2, bookie side: runs, replies, refusals."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.protocol.bookie import v2, v2_mixed
from protocol_specs import fields
from protocol_specs.codecs import Malformed
from protocol_specs.wire import framing
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import Flag, Operation
from tests.protocol.bookie.v2_frames import ADD, BATCH, FENCING_READ, KEY, READ, add_frame, frame, ids, read_frame


@pytest.mark.parametrize("count", [1, 7, 8, 100])
def test_add_run_of_equal_entries_is_one_and_answers_each(count: int) -> None:
    stream = b"".join(add_frame(7, 5 + i, b"payloads") for i in range(count))
    run, position = v2_mixed.read_adds(stream, 0, len(stream))
    assert position == len(stream)
    assert (run.entries.count, run.entries.first_entry_id, run.recovery) == (count, 5, False)
    expected = b"".join(frame(ADD.to_bytes(4, "big") + (104).to_bytes(4, "big") + ids(7, 5 + i)) for i in range(count))
    assert run.replies(statuses.EFENCED) == expected


def test_an_incomplete_frame_ends_the_run() -> None:
    stream = b"".join(add_frame(7, i, b"z" * (8 + i % 3)) for i in range(5))
    run, position = v2_mixed.read_adds(stream[:-1], 0, len(stream) - 1)
    assert run.entries.count == 4
    assert position == len(stream) - len(add_frame(7, 4, b"z" * 9))


@pytest.mark.parametrize("size", range(16))
def test_an_entry_without_its_ids_is_malformed(size: int) -> None:
    stream = frame(ADD.to_bytes(4, "big") + KEY + bytes(size))
    with pytest.raises(Malformed, match="shorter than its ids"):
        v2_mixed.read_adds(stream, 0, len(stream))


def test_flags_of_adds() -> None:
    stream = add_frame(1, 2, b"", header=ADD | Flag.RECOVERY_ADD | Flag.HIGH_PRIORITY | 0x80)
    run, _ = v2_mixed.read_adds(stream, 0, len(stream))
    assert (run.recovery, run.high_priority) == (True, True)
    assert run.replies(statuses.EOK)[4:8] == ADD.to_bytes(4, "big")


def test_fencing_reads_carry_their_key_and_stand_alone() -> None:
    stream = read_frame(1, 2, KEY, FENCING_READ) * 20
    run, position = v2_mixed.read_reads(stream, 0, len(stream), 44)
    assert (run.fencing, run.master_key, tuple(run.entry_ids), position) == (True, KEY, (2,), 44)


def test_a_fencing_read_without_its_key_is_malformed() -> None:
    stream = read_frame(1, 2, KEY[:-1], FENCING_READ)
    with pytest.raises(Malformed, match="master key"):
        v2_mixed.read_reads(stream, 0, len(stream), len(stream))


def test_version_1_reads_have_no_key() -> None:
    header = framing.join_header(1, Operation.READ_ENTRY, Flag.FENCING)
    stream = read_frame(1, 2, KEY, header)
    run, _ = v2_mixed.read_reads(stream, 0, len(stream), len(stream))
    assert (run.fencing, run.master_key) == (True, None)


def test_trailing_bytes_of_a_read_are_ignored() -> None:
    stream = read_frame(1, fields.LAST_ENTRY, b"junk") + read_frame(1, 0) * 20
    run, position = v2_mixed.read_reads(stream, 0, len(stream), 28)
    assert (tuple(run.entry_ids), position) == ((fields.LAST_ENTRY,), 28)


def test_read_replies_echo_the_request() -> None:
    run = v2.ReadRequests(READ, 9, (fields.LAST_ENTRY, 3))
    replies = b"".join(run.replies([b"entry", statuses.ENOENTRY], fields.NO_ENTRY))
    expected = frame(READ.to_bytes(4, "big") + bytes(4) + ids(9, fields.LAST_ENTRY) + b"entry")
    expected += frame(READ.to_bytes(4, "big") + (2).to_bytes(4, "big") + ids(9, 3))
    assert replies == expected


@given(
    st.integers(-30, 2**63 - 40),
    st.lists(st.sampled_from([b"entry", b"other", b"longer entry", statuses.ENOENTRY]), max_size=30)
    | st.lists(st.binary(min_size=3, max_size=3), min_size=8, max_size=30),
    st.integers(0, 5),
)
def test_replies_to_a_range_are_those_to_each_of_its_ids(first: int, answers: list[Any], unanswered: int) -> None:
    entry_ids = range(first, first + len(answers) + unanswered)
    each = [v2.ReadRequests(READ, 9, (entry_id,)) for entry_id in entry_ids]
    expected = [part for read, answer in zip(each, answers, strict=False) for part in read.replies([answer], 0)]
    assert b"".join(v2.ReadRequests(READ, 9, entry_ids).replies(answers, 0)) == b"".join(expected)


def test_batch_reply_carries_the_slices() -> None:
    request = v2.BatchReadRequest(BATCH, 1, 0, 77, 10, 1000, None)
    reply = b"".join(request.reply([b"\0\0\0\x03\x01\x02\x03", memoryview(b"\0\0\0\x02\x04\x05")], 0))
    assert reply.hex() == (
        "0000002d" "02070000" "00000000" "0000000000000001" "0000000000000000" "000000000000004d"
        "00000003010203" "000000020405"
    )  # fmt: skip
    assert request.error(statuses.ENOENTRY)[8:12] == (2).to_bytes(4, "big")

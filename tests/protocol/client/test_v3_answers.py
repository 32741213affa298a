"""A client's reading of V3 replies, captured ones and bad ones."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import ProtocolViolation
from bookkeeper_tx.protocol.client import v3_answers
from protocol_specs import vectors
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3_pb2
from protocol_specs.wire.operations import V3Operation
from tests.memory import MIB, bounded_growth

VECTORS = {vector["name"]: vector for vector in vectors.load("wire")}
TXN = 5


@pytest.mark.parametrize("name", [name for name in VECTORS if VECTORS[name].get("reply_spec") == "wire/v3.Response"])
def test_captured_reply(name: str) -> None:
    decoded, header = VECTORS[name]["reply_fields"], VECTORS[name]["reply_fields"]["header"]
    reply = v3_answers.decode(bytes.fromhex(VECTORS[name]["reply"])[4:])
    assert (reply.operation, reply.txn_id, reply.status.v3) == (
        header["operation"],
        header["txn_id"],
        decoded["status"],
    )
    assert (reply.part is not None) == any(name.endswith("_response") for name in decoded)


def answered(operation: int, status: int, **parts: Any) -> bytes:
    header = v3_pb2.PacketHeader(version=3, operation=operation, txn_id=TXN)  # type: ignore[arg-type]
    return v3_pb2.Response(header=header, status=status, **parts).SerializePartialToString()  # type: ignore[arg-type]


@pytest.mark.parametrize(("whole", "part", "status"), [(0, 504, 504), (502, 504, 502), (502, 0, 502), (0, 0, 0)])
def test_the_status_of_the_whole_wins_unless_it_says_ok(whole: int, part: int, status: int) -> None:
    add = v3_pb2.AddResponse(status=part, ledger_id=1, entry_id=2)  # type: ignore[arg-type]
    assert v3_answers.decode(answered(2, whole, add_response=add)).status.v3 == status


@pytest.mark.parametrize("operation", [1, 2, 3, 6, 7, 8, 12])
def test_an_error_needs_no_part(operation: int) -> None:
    reply = v3_answers.decode(answered(operation, 404))
    assert (reply.operation, reply.txn_id, reply.status) == (operation, TXN, statuses.EBADREQ)
    assert reply.part is None


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\x02\x02\x00\x00",
        answered(1, 0),
        answered(2, 0, read_response=v3_pb2.ReadResponse(status=0, ledger_id=1, entry_id=2)),  # type: ignore[arg-type]
        bytes.fromhex("0a0608031001180510fc03"),
        bytes.fromhex("0a06080310011805"),
        bytes.fromhex("0a060803100d1805109403"),
        bytes.fromhex("0a06080310011805109403a2060208"),
    ],
    ids=["empty", "v2", "no part", "another part", "status 508", "no status", "operation 13", "cut"],
)
def test_what_is_no_reply_is_a_violation(frame: bytes) -> None:
    with pytest.raises(ProtocolViolation, match="the bookie sent"):
        v3_answers.decode(frame)


@given(st.binary(max_size=60))
def test_junk_is_a_reply_or_a_violation(junk: bytes) -> None:
    for frame in (junk, answered(1, 0) + junk):
        try:
            v3_answers.decode(frame)
        except ProtocolViolation:
            pass


REPLIES = sorted(name for name in VECTORS if VECTORS[name].get("reply_spec") == "wire/v3.Response")


@given(st.lists(st.sampled_from(REPLIES), min_size=1, max_size=6))
def test_a_plain_reply_is_read_as_any_reply_is(names: list[str]) -> None:
    """One message reads reply after reply; it leaves alone what is not a good reply to an add or a read."""
    plain = v3_answers.PlainReplies()
    for name in names:
        frame = bytes.fromhex(VECTORS[name]["reply"])[4:]
        try:
            reply = v3_answers.decode(frame)
        except ProtocolViolation:
            assert plain.read(frame) is None
            continue
        is_plain = reply.operation in (V3Operation.ADD_ENTRY, V3Operation.READ_ENTRY) and not reply.scope_id
        value = reply.part.body if reply.operation is V3Operation.READ_ENTRY and reply.part else None
        good = (int(reply.operation), reply.txn_id, value) if reply.status is statuses.EOK else None
        expected = good if is_plain else None
        assert plain.read(frame) == expected


@pytest.mark.parametrize(("size", "count"), [(100_000, 4000), (1000, 300_000), (0, 400_000)])
def test_replies_that_were_read_take_no_memory(size: int, count: int) -> None:
    """What a message of protobuf ever held is freed only with the message: such clients grew by all they had read."""
    plain, entry = v3_answers.PlainReplies(), bytes(size)
    part = v3_pb2.ReadResponse(status=0, ledger_id=1, entry_id=2, body=entry)  # type: ignore[arg-type]
    reply = answered(1, 0, read_response=part)
    assert plain.read(reply) == (1, TXN, entry)
    with bounded_growth(30 * MIB):
        for _ in range(count):
            plain.read(reply)

"""A bookie's side of a connection: protocol versions, refusals, garbage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookkeeper_tx.errors import ProtocolViolation
from bookkeeper_tx.protocol.bookie import v2, v3
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import Answered, ConnectionBroken
from protocol_specs import fields, vectors
from protocol_specs.wire.status import BY_V2_CODE, Status

EXCHANGES = [case for case in vectors.load("wire") if "request" in case and int(case["request"][8:10], 16) < 3]
"""The captured exchanges in V2; those in V3 are compared in test_v3.py."""
V2_READ = bytes.fromhex("000000140202000000000000000000010000000000000002")
V3_READ = bytes.fromhex("000000100a06080310011805a2060508b1091000")
V3_BATCH = bytes.fromhex("000000080a060803100c1805")
BATCH = bytes.fromhex("00000028020700000000000000000001" + "00" * 8 + "000000000000004d0000000a" + "00" * 8)


def received(*stream: bytes, **settings: bool) -> list[object]:
    connection = ServerConnection(**settings)
    return [request for data in stream for request in connection.receive(data)]


def test_v3_until_the_first_frame_that_is_not() -> None:
    requests = received(V3_READ, V3_READ + V2_READ)
    assert [type(request) for request in requests] == [v3.ReadRequests, v3.ReadRequests, v2.ReadRequests]


def test_after_v2_a_v3_frame_breaks_the_connection() -> None:
    requests = received(V2_READ, V3_READ, V2_READ)
    assert [type(request) for request in requests] == [v2.ReadRequests, ConnectionBroken]


@pytest.mark.parametrize("ledger_id", [0x0A06080310081807, 0x0A06080310011801])
def test_a_v2_read_whose_ledger_id_spells_a_v3_header_is_v2(ledger_id: int) -> None:
    frame = bytes.fromhex("0000001402020000") + ledger_id.to_bytes(8, "big") + bytes(8)
    (request,) = received(frame)
    assert isinstance(request, v2.ReadRequests)
    assert request.ledger_id == ledger_id


@pytest.mark.parametrize("operation", [0, 4, 5, 6, 8, 9, 10, 128, 255])
def test_an_unknown_v2_operation_breaks_the_connection(operation: int) -> None:
    frame = bytearray(V2_READ)
    frame[5] = operation
    first, broken = received(V2_READ + bytes(frame) + V2_READ)
    assert isinstance(first, v2.ReadRequests)
    assert isinstance(broken, ConnectionBroken)
    assert isinstance(broken.error, ProtocolViolation)


def test_a_bookie_without_batch_read_takes_it_for_unknown() -> None:
    assert isinstance(received(BATCH)[0], v2.BatchReadRequest)
    assert isinstance(received(BATCH, serves_batch_read=False)[0], ConnectionBroken)
    assert isinstance(received(V3_BATCH)[0], Answered)
    assert isinstance(received(V3_BATCH, serves_batch_read=False)[0], ConnectionBroken)


@pytest.mark.parametrize("size", range(4))
def test_a_frame_shorter_than_its_header_breaks_the_connection(size: int) -> None:
    assert isinstance(received(size.to_bytes(4, "big") + bytes(size))[0], ConnectionBroken)


def test_the_frame_limit_counts_the_length_word() -> None:
    limit = fields.FRAME_SIZE_MAX
    head = bytes.fromhex("02010000") + bytes(20)
    assert isinstance(received((limit - 3).to_bytes(4, "big"))[0], ConnectionBroken)
    (request,) = received((limit - 4).to_bytes(4, "big"), head, bytes(limit - 4 - len(head)))
    assert isinstance(request, v2.AddRequests)


@pytest.mark.parametrize("version", [3, 4, 9, 127, 128, 255])
@pytest.mark.parametrize("operation", [1, 2, 7])
def test_a_strange_version_is_answered(version: int, operation: int) -> None:
    frame = bytearray(BATCH + bytes(40))
    frame[0:4] = (len(frame) - 4).to_bytes(4, "big")
    frame[4], frame[5] = version, operation
    (request,) = received(bytes(frame))
    assert isinstance(request, Answered)
    assert request.reply[4:12] == bytes([version, operation, 0, 0]) + (103).to_bytes(4, "big")


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_garbage_never_raises_and_cuts_do_not_matter(stream: bytes, cuts: list[int]) -> None:
    whole = received(stream)
    edges = sorted(min(cut, len(stream)) for cut in cuts)
    pieces = [stream[a:b] for a, b in zip([0, *edges], [*edges, len(stream)], strict=True)]
    assert [type(request) for request in received(*pieces)] == [type(request) for request in whole]


@pytest.mark.parametrize("case", EXCHANGES, ids=lambda case: case["name"])
def test_every_captured_request_is_read_and_its_reply_encoded(case: dict[str, str]) -> None:
    """With the values of the Java bookie's answer, ours encodes the same bytes."""
    (request,) = received(bytes.fromhex(case["request"]))
    assert replay(request, bytes.fromhex(case["reply"])) == bytes.fromhex(case["reply"])


def replay(request: object, reply: bytes) -> bytes:
    """Encode the reply to ``request`` with the values of ``reply``."""
    if isinstance(request, Answered):
        return request.reply
    if isinstance(request, v2.AddRequests):
        return request.replies(v2_status(reply))
    if isinstance(request, v2.ReadRequests):
        status = v2_status(reply)
        return b"".join(request.replies([reply[28:] if status.v2 == 0 else status], fields.NO_ENTRY))
    if isinstance(request, v2.BatchReadRequest):
        status = v2_status(reply)
        return b"".join(request.reply([reply[36:]], fields.NO_ENTRY)) if status.v2 == 0 else request.error(status)
    raise AssertionError(f"no reply can be made for {request}")


def v2_status(reply: bytes) -> Status:
    return BY_V2_CODE[int.from_bytes(reply[8:12], "big")]

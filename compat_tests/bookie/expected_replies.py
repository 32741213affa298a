"""Replies to adds and reads, compared with the reference to the last byte."""

from compat_tests.bookie.talk import Talk
from compat_tests.judge.case import V2
from compat_tests.wire.replies import Reply, txn_id_of
from protocol_specs import codecs
from protocol_specs.wire import framing, v2, v3, v3_pb2
from protocol_specs.wire.operations import Operation, V3Operation
from protocol_specs.wire.status import Status

_REPLY = codecs.derive("reply", codecs.leading(v2.READ_REPLY, "entry"))


def expect_exactly_added(
    talk: Talk, frame: bytes, status: Status, ledger: int, entry_id: int, version: int = 2
) -> None:
    """Send an add, and require its reply to the byte.  ``version`` is that of the packet of a V2 request."""
    reply = talk.ask(frame)
    if talk.dialect is V2:
        _check_v2(talk, reply, Operation.ADD_ENTRY, status, ledger, entry_id, version)
        return
    expected = _response(frame, V3Operation.ADD_ENTRY, status)
    part = v3_pb2.AddResponse(status=status.v3, ledger_id=ledger, entry_id=entry_id)  # type: ignore[arg-type]
    expected.add_response.CopyFrom(part)
    _check_v3(talk, reply, expected)


def expect_exactly_read(
    talk: Talk,
    frame: bytes,
    status: Status,
    ledger: int,
    entry_id: int,
    body: bytes = b"",
    max_lac: int | None = None,
) -> None:
    """Send a read, and require its reply to the byte.  ``max_lac`` is for V3 only."""
    reply = talk.ask(frame)
    if talk.dialect is V2:
        _check_v2(talk, reply, Operation.READ_ENTRY, status, ledger, entry_id, 2, body)
        return
    part = v3_pb2.ReadResponse(status=status.v3, ledger_id=ledger, entry_id=entry_id)  # type: ignore[arg-type]
    if body:
        part.body = body
    if max_lac is not None:
        part.max_lac = max_lac
    expected = _response(frame, V3Operation.READ_ENTRY, status)
    expected.read_response.CopyFrom(part)
    _check_v3(talk, reply, expected)


def _check_v2(
    talk: Talk,
    reply: Reply,
    operation: Operation,
    status: Status,
    ledger: int,
    entry_id: int,
    version: int,
    body: bytes = b"",
) -> None:
    header = framing.join_header(version, operation)
    talk.check("the reply", reply.raw, _REPLY.pack_fixed(header, status.v2, ledger, entry_id) + body)


def _response(frame: bytes, operation: V3Operation, status: Status) -> v3_pb2.Response:
    header = v3_pb2.PacketHeader(version=v3.VERSION, operation=operation, txn_id=txn_id_of(frame))  # type: ignore[arg-type]
    return v3_pb2.Response(header=header, status=status.v3)  # type: ignore[arg-type]


def _check_v3(talk: Talk, reply: Reply, expected: v3_pb2.Response) -> None:
    """Compare messages, as fields may stand in any order, and their sizes, which unknown fields would change."""
    talk.check("the fields of the reply", str(reply.message), str(expected))
    talk.check("bytes in the reply", len(reply.raw), expected.ByteSize())

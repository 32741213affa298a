"""The replies of V3: the header, the status, and the part of the operation (docs/protocol/v3.md)."""

from typing import Any, TypeAlias

from protocol_specs import codecs
from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.operations import PARTS, V3Operation
from protocol_specs.wire.status import Status

_pack_length = codecs.RECORD_LENGTH.pack_fixed

Decoded: TypeAlias = Any
"""A ``v3_pb2.Request`` that has every required field."""


def frame(response: v3_pb2.Response) -> bytes:
    """Encode a response with its length before it."""
    body = response.SerializeToString()
    return _pack_length(len(body)) + body


def response(header: v3_pb2.PacketHeader, code: Any) -> v3_pb2.Response:
    """Return a response without a part; ``code`` is the V3 code of a status."""
    return v3_pb2.Response(header=header, status=code)


def header(operation: Any, txn_id: int) -> v3_pb2.PacketHeader:
    """Return the header of a reply to a request that is served."""
    return v3_pb2.PacketHeader(version=v3.VERSION, operation=operation, txn_id=txn_id)


def header_copied(message: Decoded, status: Status) -> bytes:
    """Encode a reply without a part, with the request's header unchanged, version and priority included."""
    return frame(response(message.header, status.v3))


def served(operation: V3Operation, txn_id: int, status: Status, **part: Any) -> tuple[v3_pb2.Response, Any]:
    """Return a response and its part for ``operation``, with the fields ``part`` and the status once more.

    A field whose value is None is absent.  So is the ledger scope id 0: only a client that sent another one looks for
    it.
    """
    whole = response(header(operation, txn_id), status.v3)
    carried = getattr(whole, PARTS[operation].response)
    carried.status = status.v3
    for field, value in part.items():
        if value is not None and (value or field != "ledger_scope_id"):
            setattr(carried, field, value)
    return whole, carried


def reply(operation: V3Operation, txn_id: int, status: Status, **part: Any) -> bytes:
    """Encode the reply that :func:`served` returns."""
    return frame(served(operation, txn_id, status, **part)[0])

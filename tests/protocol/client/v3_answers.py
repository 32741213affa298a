"""Replies of a V3 bookie, made field by field: also replies that no bookie would send."""

from typing import Any

from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.operations import PARTS, V3Operation


def answer(operation: V3Operation, txn_id: int, status: int = 0, whole: int | None = None, **part: Any) -> bytes:
    """A frame with a reply whose part has the fields ``part`` and ``status``; ``whole``: another outer status."""
    outer: Any = status if whole is None else whole
    header = v3_pb2.PacketHeader(version=v3.VERSION, operation=operation, txn_id=txn_id)  # type: ignore[arg-type]
    response = v3_pb2.Response(header=header, status=outer)
    carried = getattr(response, PARTS[operation].response)
    carried.status = status
    for field, value in part.items():
        if isinstance(value, list):
            getattr(carried, field).extend(value)
        else:
            setattr(carried, field, value)
    return framed(response.SerializeToString())


def bare(operation: V3Operation, txn_id: int, status: int) -> bytes:
    """A frame with a reply that has no part."""
    code: Any = status
    header = v3_pb2.PacketHeader(version=v3.VERSION, operation=operation, txn_id=txn_id)  # type: ignore[arg-type]
    return framed(v3_pb2.Response(header=header, status=code).SerializeToString())


def framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def requests(data: bytes) -> list[v3_pb2.Request]:
    """The requests in ``data``, all of them complete."""
    found = []
    while data:
        end = 4 + int.from_bytes(data[:4], "big")
        found.append(v3_pb2.Request.FromString(data[4:end]))
        assert found[-1].IsInitialized()
        data = data[end:]
    return found

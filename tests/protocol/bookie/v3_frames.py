"""V3 requests as a client would make them, and a bookie's reading of them."""

from typing import Any

from bookkeeper_tx.protocol.bookie import v3
from protocol_specs.wire import v3_pb2

KEY = bytes(range(20))
ENTRY = b"".join(each.to_bytes(8, "big", signed=True) for each in (9, 4, 3, 50)) + b"payload"


def frame_of(operation: int, txn_id: int = 7, version: int = 3, priority: int = 0, **parts: Any) -> bytes:
    header = v3_pb2.PacketHeader(version=version, operation=operation, txn_id=txn_id)  # type: ignore[arg-type]
    if priority:
        header.priority = priority
    return v3_pb2.Request(header=header, **parts).SerializeToString()


def decode(operation: int, **arguments: Any) -> Any:
    request = v3.decode(frame_of(operation, **arguments))
    assert request is not None
    return request


def response(reply: bytes) -> Any:
    assert int.from_bytes(reply[:4], "big") == len(reply) - 4
    message = v3_pb2.Response.FromString(reply[4:])
    assert message.IsInitialized()
    return message


def add_part(**changes: Any) -> v3_pb2.AddRequest:
    return v3_pb2.AddRequest(**{"ledger_id": 1, "entry_id": 2, "master_key": KEY, "body": ENTRY, **changes})


def write_lac_part(body: bytes) -> v3_pb2.WriteLacRequest:
    return v3_pb2.WriteLacRequest(ledger_id=1, lac=2, master_key=KEY, body=body)

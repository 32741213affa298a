"""The frame around any request of V3 (docs/protocol/v3.md)."""

from typing import Any

from protocol_specs import codecs
from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.operations import Flag

_pack_length = codecs.RECORD_LENGTH.pack_fixed


def frame(operation: Any, txn_id: int, flags: int = 0, **parts: Any) -> bytes:
    """Encode a request: ``parts`` are fields of ``Request``, ``flags`` those of V2."""
    priority = v3.PRIORITY_HIGH if flags & Flag.HIGH_PRIORITY else None
    header = v3_pb2.PacketHeader(version=v3.VERSION, operation=operation, txn_id=txn_id, priority=priority)
    body = v3_pb2.Request(header=header, **parts).SerializeToString()
    return _pack_length(len(body)) + body

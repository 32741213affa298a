"""Requests of V2 as bytes."""

from protocol_specs.wire import framing
from protocol_specs.wire.operations import Flag, Operation

KEY = bytes(range(20))
ADD = framing.join_header(2, Operation.ADD_ENTRY)
READ = framing.join_header(2, Operation.READ_ENTRY)
FENCING_READ = framing.join_header(2, Operation.READ_ENTRY, Flag.FENCING)
BATCH = framing.join_header(2, Operation.BATCH_READ_ENTRY)


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def ids(*values: int) -> bytes:
    return b"".join(value.to_bytes(8, "big", signed=True) for value in values)


def add_frame(ledger_id: int, entry_id: int, rest: bytes, key: bytes = KEY, header: int = ADD) -> bytes:
    return frame(header.to_bytes(4, "big") + key + ids(ledger_id, entry_id) + rest)


def read_frame(ledger_id: int, entry_id: int, key: bytes = b"", header: int = READ) -> bytes:
    return frame(header.to_bytes(4, "big") + ids(ledger_id, entry_id) + key)

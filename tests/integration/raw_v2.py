"""V2 frames as no client would send them, and replies told in a word."""

from protocol_specs import codecs, tails
from protocol_specs.wire import framing, v2
from protocol_specs.wire.operations import Operation
from protocol_specs.wire.status import BY_V2_CODE
from tests.integration.raw_v3 import KEY, entry

REQUEST_ID = 77

_HEADER = codecs.derive("packet header", codecs.leading(v2.READ_REQUEST, "ledger_id"))
_READ = codecs.derive("read request", codecs.leading(v2.READ_REQUEST, "master_key"))
_BATCH = codecs.derive("batch read request", codecs.leading(v2.BATCH_READ_REQUEST, "master_key"))
_ADD_REPLY = codecs.derive("add reply", v2.ADD_REPLY)
_BATCH_REPLY = codecs.derive("batch read reply", v2.BATCH_READ_REPLY)


def add(ledger_id: int, entry_id: int, *, version: int = 2, flags: int = 0, key: bytes = KEY) -> bytes:
    """An add without its length."""
    header = framing.join_header(version, Operation.ADD_ENTRY, flags)
    return _HEADER.pack_fixed(header) + key + entry(ledger_id, entry_id, entry_id - 1)


def read(ledger_id: int, entry_id: int, *, version: int = 2, flags: int = 0, key: bytes = b"") -> bytes:
    """A read, with whatever key behind it."""
    return _READ.pack_fixed(framing.join_header(version, Operation.READ_ENTRY, flags), ledger_id, entry_id) + key


def batch_read(
    ledger_id: int, start: int, count: int, size: int, *, version: int = 2, flags: int = 0, key: bytes = b""
) -> bytes:
    """A batch read, with whatever key behind it."""
    header = framing.join_header(version, Operation.BATCH_READ_ENTRY, flags)
    return _BATCH.pack_fixed(header, ledger_id, start, REQUEST_ID, count, size) + key


def operation(code: int, *, version: int = 2, body: bytes = bytes(60)) -> bytes:
    """Any operation."""
    return _HEADER.pack_fixed(framing.join_header(version, code)) + body


def brief(reply: bytes) -> str:
    """A reply in a few words: its status, and how much it brings."""
    (header,) = _HEADER.unpack_fixed(reply)
    _, code, _ = framing.split_header(header)
    if code == Operation.AUTH:
        return "AUTH"
    words = BY_V2_CODE[_ADD_REPLY.unpack_fixed(reply)[1]].name
    if code == Operation.BATCH_READ_ENTRY:
        return f"{words} {len(tails.Records.parse(reply[_BATCH_REPLY.size :]))} entries"
    return f"{words} {len(reply) - _ADD_REPLY.size} bytes"

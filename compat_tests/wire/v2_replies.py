"""V2 replies in a few words."""

from protocol_specs import codecs
from protocol_specs.wire import framing, tails, v2
from protocol_specs.wire.operations import Operation
from protocol_specs.wire.status import BY_V2_CODE

_HEADER = codecs.derive("packet header", codecs.leading(v2.READ_REPLY, "status"))
_ADD_REPLY = codecs.derive("add reply", v2.ADD_REPLY)
_BATCH_REPLY = codecs.derive("batch read reply", v2.BATCH_READ_REPLY)


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

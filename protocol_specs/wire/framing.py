"""Framing (V2 and V3, both directions), and the bit layout of the V2 packet header."""

from construct import BitsInteger, BitStruct, GreedyBytes

from protocol_specs import fields
from protocol_specs.forms import LengthFirst

FRAME = LengthFirst(
    "length" / fields.frame_length * "bytes that follow",
    "body" / GreedyBytes * "a V2 packet or a V3 message",
)
"""A frame: the length counts the body, not itself.  4 + length must not exceed the frame limit."""

V3_FIRST_BYTE_MIN = 1 << 3
"""The lowest first byte of a V3 frame: it starts with a protobuf tag, and field number 0 is illegal.  So no V2 header,
whose first byte is a version of 0 to 2, can be taken for V3.  (Java 4.18 tolerates field 0 and takes some V2 reads for
V3: S14 in docs/protocol/errata.md.)"""

VERSION_MAX = 2
"""The newest V2 packet version; a request of another version is answered EBADVERSION."""

VERSION_WITH_KEY = 2
"""From this version on a fencing read carries the master key."""

VERSION_SIGN = 0x80
"""The version is a signed byte: from this value on it is negative, hence older than every other."""

PACKET_HEADER = BitStruct(
    "version" / BitsInteger(8) * "a signed byte; 2, and 0 and 1 are served as well",
    "operation" / BitsInteger(8) * "1 add, 2 read, 3 authentication, 7 batch read",
    "flags" / BitsInteger(16) * "1 fencing, 2 recovery add, 4 high priority; other bits are ignored",
)
"""The V2 packet header from version 1 on.  In version 0 the operation is the low byte and there are no flags."""


def split_header(header: int) -> tuple[int, int, int]:
    """Split a V2 packet header word into version, operation and flags, each unsigned."""
    version = header >> 24 & 0xFF
    if version == 0:
        return 0, header & 0xFF, 0
    return version, header >> 16 & 0xFF, header & 0xFFFF


def join_header(version: int, operation: int, flags: int = 0) -> int:
    """Join version, operation and flags into a V2 packet header word."""
    if version == 0:
        return operation
    return version << 24 | operation << 16 | flags


def reply_header(header: int) -> int:
    """Return the header of the reply to a request: its version and operation, flags always zero."""
    version, operation, _ = split_header(header)
    return join_header(version, operation)

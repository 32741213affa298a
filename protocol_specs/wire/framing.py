"""Framing (V2 and V3, both directions), and the bit layout of the V2 packet header."""

from construct import BitsInteger, BitStruct, GreedyBytes, Struct

from protocol_specs import fields

FRAME = Struct(
    "length" / fields.frame_length,
    "body" / GreedyBytes,
)
"""A frame: the length counts the body, not itself.  4 + length must not exceed the frame limit."""

VERSION_MAX = 2
"""The newest V2 packet version; a request of another version is answered EBADVERSION."""

VERSION_WITH_KEY = 2
"""From this version on a fencing read carries the master key."""

PACKET_HEADER = BitStruct(
    "version" / BitsInteger(8),
    "operation" / BitsInteger(8),
    "flags" / BitsInteger(16),
)
"""The V2 packet header from version 1 on.  In version 0 the operation is the low byte and there are no flags."""


def split_header(header: int) -> tuple[int, int, int]:
    """Split a V2 packet header word into version, operation and flags."""
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

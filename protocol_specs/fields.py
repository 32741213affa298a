"""Shared fields, named sentinels and limits.  All integers are big-endian and signed unless a field says otherwise."""

from construct import Bytes, Int8ub, Int32sb, Int32ub, Int64sb

# Sentinels -----------------------------------------------------------------------------------------------------------

NO_ENTRY = -1
"""An entry id that names no entry: the last add confirmed of an empty ledger, the last entry of an open one."""

FIRST_ENTRY_ID = NO_ENTRY + 1
"""The first entry of every ledger."""

LAST_ENTRY = -1
"""An entry id in a read request: "the entry with the highest id that this bookie stores"."""

# Sizes ---------------------------------------------------------------------------------------------------------------

MASTER_KEY_SIZE = 20
"""A SHA-1 digest."""

FRAME_LENGTH_SIZE = 4

FRAME_SIZE_MAX = 5 * 1024 * 1024
"""Default limit of a frame including its length word (``nettyMaxFrameSizeBytes``), the same on both sides in Java."""

ENTRY_SIZE_MIN = 24
"""Storage reads the last add confirmed, the 8 bytes at offset 16; a shorter entry is refused as a bad request."""

VARINT_SIZE_MAX = 10
"""Any 64-bit number fits into a varint of protobuf.  Without a limit a run of continuation bytes would add up to a huge
integer."""

LEDGER_ID_MAX = 2**63 - 1
ENTRY_ID_MAX = 2**63 - 1

# Fields --------------------------------------------------------------------------------------------------------------

ledger_id = Int64sb
entry_id = Int64sb
request_id = Int64sb
status = Int32sb
frame_length = Int32ub
packet_header = Int32ub
record_length = Int32sb
count = Int32sb
size = Int64sb
master_key = Bytes(MASTER_KEY_SIZE)
byte = Int8ub

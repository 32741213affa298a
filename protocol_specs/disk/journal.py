"""The journal, version 6: files ``<hexadecimal id>.txn`` of a header, records and pad records.

A record is ``[int32 length][body]``; its body starts with ledger id and entry id.  Records whose entry id is negative
are declared in :mod:`protocol_specs.disk.meta_entries`.  Zeros follow the last record, so a length of 0 ends the file.
Readers skip the body of a pad record, whatever it holds; ours holds the seal of the records before it.

A file that has a record of a ledger outside scope 0 is of version 7.  Those records start with the flag byte and the
128-bit id of entry format V2.  In an older file they are an error: they would be read as records of a negative ledger
id.  All else in a file of version 7 is as in version 6, except the seal at its start, which covers the header.
"""

from construct import Bytes, Const, GreedyBytes, Int32sb, Int32ub, Int64sb, Struct

from protocol_specs.entry import v1, v2

FILE_SUFFIX = ".txn"

MAGIC = b"BKLG"
VERSION = 6
"""The version written while there are no scoped records; versions 1 to 7 are read."""

SCOPED_VERSION = 7
"""The version of a file with scoped records.  Java's bookies refuse it; they would misread those records."""

VERSION_WITHOUT_HEADER = 1
VERSION_WITH_PADDING = 5
"""From here on: a header of 512 bytes, and pad records."""

HEADER_SIZE = 512
SHORT_HEADER_SIZE = 8
"""Size of the header of versions 2 to 4."""

HEADER = Struct(
    "magic" / Const(MAGIC) * "`BKLG`", "version" / Int32sb * "6, or 7 with scoped records; 1 to 5 are read as well"
)
"""The start of the file; zeros up to the header's size follow."""

RECORD = v1.ENTRY_RECORD

SCOPED_RECORD = v2.ENTRY_RECORD

END_OF_LOG = 0
"""The length word where the records end."""

ALIGNMENT = 512
"""Every write ends at a multiple of this (``journalAlignmentSize``)."""

PAD_LENGTH = -256
"""The length word of a pad record: ``ffffff00``."""

PAD = Struct(
    "mask" / Const(PAD_LENGTH, Int32sb) * "-256, `ffffff00`: no record has this length",
    "size" / Int32sb * "bytes that follow",
    "body" / GreedyBytes * "any bytes that fill the block; not looked at",
)
"""Fills up to the alignment.  ``size`` bytes of body follow, which no reader looks at."""

PAD_HEADER = Struct(
    "mask" / Int32sb * "-256, `ffffff00`: no record has this length", "size" / Int32sb * "bytes that follow"
)
PAD_HEADER_SIZE = PAD_HEADER.sizeof()

SEAL_MAGIC = b"bktxSEAL"
"""Java's pad bodies are zeros, so this distinguishes our groups from Java's."""

LAZY_SEAL_MAGIC = b"bktxLAZY"
"""The magic of a group before which not all groups of its file had been synced (``journalSyncData=false``).

Power cuts leave what was not synced in any order, so a bad group may have such a one after it.  After a group with the
other magic, all that is before it was on the disk.
"""

SEAL_SALT_SIZE = 8

SEAL = Struct(
    "magic" / Bytes(len(SEAL_MAGIC)) * "`bktxSEAL`; `bktxLAZY` if not all that is before it was synced",
    "salt" / Bytes(SEAL_SALT_SIZE) * "random, the same in all seals of a file, new for each file",
    "start" / Int64sb * "offset in the file where the group's records start",
    "crc32c" / Int32ub * "of the bytes from start up to the pad record",
)
"""The first bytes of our pad bodies: the group of records from ``start`` up to this pad record has this CRC-32C.

``salt`` is random, drawn for each file, so that no entry can contain a seal.  A file of ours starts, right after the
header, with a group of no records, by which a reader recognizes it.  In version 7 that first seal covers the header's
512 bytes and then the salt instead: its ``start`` is 0.
"""

SEAL_PAD = Struct(*PAD_HEADER.subcons, *SEAL.subcons)
SEAL_PAD_SIZE = SEAL_PAD.sizeof()


def seal_pad_size(position: int) -> int:
    """Return the size in bytes, header included, of the pad record after records that end at ``position``.

    A gap that is too small for the seal spills into the next block, as Java's pads do when theirs has no room.
    """
    gap = ALIGNMENT - position % ALIGNMENT
    return gap if gap >= SEAL_PAD_SIZE else gap + ALIGNMENT

"""Index files: master key, fenced bit and explicit last add confirmed of one ledger, and where each entry lies.

Ledger ``0x12345`` is in ``23/45/12345.idx`` under the index directory: the second lowest and the lowest byte of the id
as directories, all in unpadded lower-case hex.

Outside scope 0 the 32 digits of the qualified name are cut in four: scope ``0x1``, ledger ``0x12345`` is in
``00000000/00000001/00000000/00012345.idx``.  A Java bookie looks for indexes two levels deep, and ignores these.
"""

from construct import Array, Const, GreedyBytes, If, Int32sb, Int64ub, Prefixed, Struct, this

CHECK_NAME = "NEEDS_INTEGRITY_CHECK"
"""A file of ours beside the index files: it is there while entries may be missing in the directory."""

INDEX_SUFFIX = ".idx"

SCOPED_LEVEL_DIGITS = 8
"""Digits of the qualified name in each of the four levels, leading zeros included, so that no name is one of Java's."""

HEADER_SIZE = 1024
MAGIC = b"BKLE"
VERSION = 1
"""Version 1 has room for an explicit last add confirmed, version 0 has none.  Higher ones are refused."""

FENCED = 0x1
"""The bit of ``state`` that Java knows."""

LIMBO = 0x2
"""A bit of ours, which Java keeps and takes no notice of: the bookie may have lost entries of the ledger."""

HEADER_FIXED_SIZE = 20
"""Bytes of a version 1 header besides master key and explicit last add confirmed."""

HEADER = Struct(
    "magic" / Const(MAGIC) * "`BKLE`",
    "version" / Int32sb * "1; 0 ends after the state",
    "master_key" / Prefixed(Int32sb, GreedyBytes) * "20 bytes",
    "state" / Int32sb * "bit 0: fenced; bit 1: in limbo, a bit of ours",
    "explicit_lac"
    / If(this.version >= VERSION, Prefixed(Int32sb, GreedyBytes))
    * "body of WRITE_LAC as it came; none if its size is 0",
)
"""The start of the file; zeros up to the header's size follow.

``explicit_lac`` is the body of a WRITE_LAC request as it came, empty if there was none.
"""

LOCATION_SIZE = 8
PAGE_COUNT = 1024
"""Locations in a page."""
PAGE_SIZE = LOCATION_SIZE * PAGE_COUNT

PAGE = Array(PAGE_COUNT, Int64ub)
"""Locations of consecutive entries (``protocol_specs.disk.entry_log.LOCATION``), 0 for none.

The location of entry e is at ``HEADER_SIZE + LOCATION_SIZE * e``.  Whole pages are written; readers take a file whose
last page is cut short as well.
"""

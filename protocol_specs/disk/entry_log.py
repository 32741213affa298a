"""Entry log files: a header, entries of many ledgers and, when the log is full, a map of these ledgers.

An entry is stored as :data:`protocol_specs.entry.v1.ENTRY_RECORD`, the same bytes as in the journal and in a batch
read reply.  The index knows it by its location: log id and the offset just past the length word.

Entries of format V2, those of ledgers outside scope 0, lie in separate logs, :data:`SCOPED_LOG_SUFFIX`.  A Java bookie
would read their first bytes as the id of a ledger that does not exist, and delete the log as one of deleted ledgers.
The version in the header does not prevent that.  It looks for files named ``.log`` only, so these have another name.
"""

from construct import Array, BitsInteger, BitStruct, Bytes, Int32sb, Int64sb, Struct, this

from protocol_specs import fields

# File names ----------------------------------------------------------------------------------------------------------

LOG_SUFFIX = ".log"
"""A log is named by its id in unpadded lower-case hex; ``.log.compacting`` and ``.compacted`` share the ids."""

SCOPED_LOG_SUFFIX = ".log128"
"""A log of scoped entries.  It takes its id from the same sequence as the others."""

LAST_ID_NAME = "lastId"
"""Holds the last log id that was given out, in hex, and a line feed."""

LOG_ID_MAX = 2**31 - 1

# Header --------------------------------------------------------------------------------------------------------------

HEADER_SIZE = 1024
MAGIC = b"BKLO"
VERSION = 1
"""A full log of version 1 has a ledgers map; version 0 never has one."""

SCOPED_VERSION = 2
"""The version of a log of scoped entries: like version 1, with ids of 128 bits in entries and in the ledgers map."""

HEADER = Struct(
    "magic" / Bytes(len(MAGIC)) * "`BKLO`",
    "version" / Int32sb * "1; 0 never has a map",
    "ledgers_map_offset" / Int64sb * "0: no map (yet)",
    "ledgers_map_count" / Int32sb * "ledgers in the map",
)
"""The start of the file; zeros up to the header's size follow.  ``ledgers_map_offset`` is 0 while there is no map."""

# Location ------------------------------------------------------------------------------------------------------------

LOCATION = BitStruct(
    "log_id" / BitsInteger(32) * "id of the log", "offset" / BitsInteger(32) * "of the entry, after its length word"
)
"""The place of an entry: ``offset`` points past its length word.  A location of 0 says that there is no entry."""

LOCATION_LOG_ID_SHIFT = 32
LOCATION_OFFSET_MASK = 0xFFFFFFFF
NO_LOCATION = 0

LOG_SIZE_MAX = 1 << 30
"""Default and highest limit (``logSizeLimit``): offsets must stay below 2^31 with room for bytes over the limit."""

# Ledgers map ---------------------------------------------------------------------------------------------------------

LEDGERS_MAP_LEDGER_ID = -1
LEDGERS_MAP_ENTRY_ID = -2
"""Each batch of the map looks like an entry of this ledger and entry id, so that a scan can step over it."""

LEDGERS_MAP_BATCH_COUNT_MAX = 10_000

LEDGERS_MAP_HEAD = Struct(
    "length" / fields.record_length * "of the bytes that follow: 20 + 16 · count",
    "ledger_id" / fields.ledger_id * "-1",
    "entry_id" / fields.entry_id * "-2",
    "count" / fields.count * "rows in this batch, at most 10 000",
)
"""``length`` counts the bytes after it: 20, and 16 for each ledger."""

LEDGERS_MAP_ROW = Struct(
    "ledger_id" / fields.ledger_id * "the ledger",
    "size" / fields.size * "its bytes in this log, length words included",
)
"""Bytes of one ledger in this log, length words included."""

LEDGERS_MAP_BATCH = Struct(*LEDGERS_MAP_HEAD.subcons, "ledgers" / Array(this.count, LEDGERS_MAP_ROW) * "in any order")

SCOPED_LEDGERS_MAP_SCOPE_ID = 0
"""Scope and ledger id of a batch of the map in a log of scoped entries are 0 and -1: no ledger's."""

SCOPED_LEDGERS_MAP_HEAD = Struct(
    "length" / fields.record_length * "of the bytes that follow: 29 + 24 · count",
    "flags" / fields.byte * "0xa0: format V2, no digest",
    "ledger_scope_id" / fields.ledger_id * "0: no ledger's",
    "ledger_id" / fields.ledger_id * "-1",
    "entry_id" / fields.entry_id * "-2",
    "count" / fields.count * "rows in this batch, at most 10 000",
)
"""``length`` counts the bytes after it: 29, and 24 for each ledger.  ``flags`` are those of format V2, no digest."""

SCOPED_LEDGERS_MAP_ROW = Struct(
    "ledger_scope_id" / fields.ledger_id * "upper half of the ledger id",
    "ledger_id" / fields.ledger_id * "lower half of the ledger id",
    "size" / fields.size * "its bytes in this log, length words included",
)

SCOPED_LEDGERS_MAP_BATCH = Struct(
    *SCOPED_LEDGERS_MAP_HEAD.subcons, "ledgers" / Array(this.count, SCOPED_LEDGERS_MAP_ROW) * "in any order"
)

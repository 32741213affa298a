"""RocksDB databases of DbLedgerStorage: the states of all ledgers in one, the locations of all entries in another.

Keys are integers of 8 bytes, big-endian, so that the entries of a ledger are neighbours in their order.  Ledgers
outside scope 0 have databases of their own, in which the scope comes before the ledger id (BP-34): a Java bookie would
take the first 8 bytes of their keys for a ledger id.
"""

from construct import Int64sb, Int64ub, Struct

from protocol_specs import fields

# Names ---------------------------------------------------------------------------------------------------------------

LEDGERS = "ledgers"
LOCATIONS = "locations"
SCOPED_LEDGERS = "scopedLedgers"
SCOPED_LOCATIONS = "scopedLocations"

# Keys of locations ---------------------------------------------------------------------------------------------------

LOCATION_KEY = Struct(
    "ledger_id" / fields.ledger_id * "of the ledger",
    "entry_id" / fields.entry_id * "of the entry",
)
"""The key of an entry in ``locations``; the value is :data:`protocol_specs.disk.entry_log.LOCATION`."""

SCOPED_LOCATION_KEY = Struct(
    "scope_id" / Int64sb * "of the ledger, not 0",
    "ledger_id" / fields.ledger_id * "of the ledger in that scope",
    "entry_id" / fields.entry_id * "of the entry",
)
"""The key of an entry in ``scopedLocations``; the value is the same."""

# Keys of ledgers -----------------------------------------------------------------------------------------------------

LEDGER_KEY = Struct("ledger_id" / fields.ledger_id * "of the ledger; a negative one is no ledger")
"""The key of a ledger in ``ledgers``; the value is the message ``LedgerData``."""

SCOPED_LEDGER_KEY = Struct(
    "scope_id" / Int64sb * "of the ledger, not 0", "ledger_id" / fields.ledger_id * "of the ledger in that scope"
)
"""The key of a ledger in ``scopedLedgers``; the value is the same."""

STORAGE_STATE_ID = -0xEEFD
"""In the place of a ledger id in ``ledgers``: the value under this key is :data:`STORAGE_STATE`."""

NEEDS_INTEGRITY_CHECK = 0x1
"""The only bit of :data:`STORAGE_STATE` in use: entries may be missing, so "no such entry" would be a lie."""

STORAGE_STATE = Struct("flags" / Int64ub * "bit 0: the data has to be checked before it is served")
"""What Java notes of the whole directory."""

KEY_PART_SIZE = 8
"""Bytes of each integer in a key."""

ROCKSDB_FORMAT_VERSION = 5
"""Of table files, ``format_version`` in RocksDB: all releases from 4.14 on read it, and newer ones not all."""

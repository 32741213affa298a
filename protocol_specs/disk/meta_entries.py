"""Journal records that carry ledger state instead of an entry, under entry ids that no entry may have."""

from construct import GreedyBytes

from protocol_specs import fields
from protocol_specs.forms import LengthFirst

LEDGER_KEY = -0x1000
"""The ledger's master key.  It comes before every other record of the ledger: replay skips ledgers without a key."""

FENCE = -0x2000
"""The ledger is fenced."""

FORCE_LEDGER = -0x4000
"""Never written: Java's mark for a request in its queue."""

EXPLICIT_LAC = -0x8000
"""A last add confirmed set by the writer: the body of its WRITE_LAC request, digest included."""

DELETED = -0x62747801
"""The ledger was garbage and is deleted: what the journal has of it before this record is nobody's any more.

It is ours; a Java bookie passes over records of a kind that it does not know.  Java's kinds are single bits, this one
is not, so that none of Java's next ones will be the same.
"""

VERSION_WITH = {LEDGER_KEY: 3, FENCE: 4, EXPLICIT_LAC: 6, DELETED: 6}
"""The journal version that introduced each; in an older file it is an error.  Scoped ones need version 7."""

FENCE_RECORD = LengthFirst(
    "length" / fields.record_length * "bytes that follow",
    "ledger_id" / fields.ledger_id * "the ledger",
    "kind" / fields.entry_id * "-0x1000 key, -0x2000 fence, -0x8000 explicit last add confirmed, -0x62747801 deleted",
)
"""``kind`` stands where an entry has its entry id.  A record of a deletion has the same form."""

BLOB_RECORD = LengthFirst(
    *FENCE_RECORD.subcons,
    "size" / fields.count * "of the bytes that follow",
    "blob" / GreedyBytes * "the key, or the body of WRITE_LAC",
)
"""The form of LEDGER_KEY and EXPLICIT_LAC records; ``size`` is the size of the blob."""

SCOPED_FENCE_RECORD = LengthFirst(
    "length" / fields.record_length * "bytes that follow",
    "flags" / fields.byte * "0xa0: format V2, no digest",
    "ledger_scope_id" / fields.ledger_id * "upper half of the ledger id, not 0",
    "ledger_id" / fields.ledger_id * "lower half of the ledger id",
    "kind" / fields.entry_id * "-0x1000 key, -0x2000 fence, -0x8000 explicit last add confirmed, -0x62747801 deleted",
)
"""The fence, or the deletion, of a ledger outside scope 0."""

SCOPED_BLOB_RECORD = LengthFirst(
    *SCOPED_FENCE_RECORD.subcons,
    "size" / fields.count * "of the bytes that follow",
    "blob" / GreedyBytes * "the key, or the body of WRITE_LAC",
)
"""LEDGER_KEY and EXPLICIT_LAC of a ledger outside scope 0."""

"""Entry format V2 (BP-34): entries of ledgers whose scope is not 0.  In scope 0 there is format V1 only.

It starts with one byte of metadata flags, and the ledger id is two halves.  All else is as in V1: the digest covers the
metadata, now 41 bytes, and the payload.
"""

from construct import GreedyBytes, Struct

from protocol_specs import fields
from protocol_specs.forms import LengthFirst

# Flags ---------------------------------------------------------------------------------------------------------------

NOT_V1 = 0x80
"""The top bit of an entry's first byte.  In V1 that byte starts a ledger id, which is not negative."""

VERSION_MASK = 0xF0
"""The high nibble: the version of the format, with the top bit."""

VERSION = 0xA0
"""Version 2."""

DIGEST_MASK = 0x0F
"""The low nibble: the number of the digest type (:mod:`protocol_specs.entry.digest`), as in ledger metadata."""

NO_DIGEST = 0
"""The low nibble of records without a digest: those of the journal that are no entries."""

# Layout --------------------------------------------------------------------------------------------------------------

ENTRY_METADATA = Struct(
    "flags" / fields.byte * "0xA0 and the number of the digest type",
    "ledger_scope_id" / fields.ledger_id * "upper half of the ledger id; not 0",
    "ledger_id" / fields.ledger_id * "lower half of the ledger id; may be negative",
    "entry_id" / fields.entry_id * "from 0, without gaps",
    "last_add_confirmed" / fields.entry_id * "up to it the writer knew all entries to be acknowledged; -1 at first",
    "length" / fields.size * "payload bytes of the ledger so far, this entry's included",
)
"""The 41 bytes that every entry starts with; ``length`` is the ledger's payload so far, this entry's included."""

ENTRY = Struct(
    *ENTRY_METADATA.subcons, "digest_and_payload" / GreedyBytes * "digest, of the size of its type, then the payload"
)

ENTRY_IDS = Struct(*ENTRY_METADATA.subcons[:4], "rest" / GreedyBytes * "the rest of the entry")

ENTRY_RECORD = LengthFirst("length" / fields.record_length * "bytes that follow", *ENTRY_IDS.subcons)
"""An entry after its length: the form in the journal, in the entry log and in the reply to a batch read."""

LAC_METADATA = Struct(
    *ENTRY_METADATA.subcons[:3], "last_add_confirmed" / fields.entry_id * "acknowledged, with all entries before it"
)
"""The 25 bytes that the digest of an explicit last add confirmed covers."""


def flags_of(digest_number: int) -> int:
    """Return the first byte of an entry with a digest of this number (0: none)."""
    return VERSION | digest_number

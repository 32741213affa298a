"""Entry format V1: the bytes that are sent, journaled, stored and returned, the same everywhere."""

from construct import GreedyBytes, Struct

from protocol_specs import fields
from protocol_specs.forms import LengthFirst

ENTRY_METADATA = Struct(
    "ledger_id" / fields.ledger_id * "the ledger; not negative",
    "entry_id" / fields.entry_id * "from 0, without gaps",
    "last_add_confirmed" / fields.entry_id * "up to it the writer knew all entries to be acknowledged; -1 at first",
    "length" / fields.size * "payload bytes of the ledger so far, this entry's included",
)
"""The 32 bytes that every entry starts with; ``length`` is the ledger's payload so far, this entry's included."""

ENTRY = Struct(
    *ENTRY_METADATA.subcons, "digest_and_payload" / GreedyBytes * "digest, of the size of its type, then the payload"
)

ENTRY_IDS = Struct(*ENTRY_METADATA.subcons[:2], "rest" / GreedyBytes * "the rest of the entry")

ENTRY_RECORD = LengthFirst("length" / fields.record_length * "bytes that follow", *ENTRY_IDS.subcons)
"""An entry after its length: the form in the journal, in the entry log and in the reply to a batch read."""

LAC_METADATA = Struct(
    "ledger_id" / fields.ledger_id * "the ledger",
    "last_add_confirmed" / fields.entry_id * "acknowledged, with all entries before it",
)
"""The bytes that the digest of an explicit last add confirmed covers."""

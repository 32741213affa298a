"""Entry format V1: what is sent, journaled, stored and returned, byte for byte the same everywhere."""

from construct import GreedyBytes, Struct

from protocol_specs import fields
from protocol_specs.forms import LengthFirst

ENTRY_METADATA = Struct(
    "ledger_id" / fields.ledger_id,
    "entry_id" / fields.entry_id,
    "last_add_confirmed" / fields.entry_id,
    "length" / fields.size,
)
"""The 32 bytes that every entry starts with; ``length`` is the ledger's payload so far, this entry's included."""

ENTRY = Struct(*ENTRY_METADATA.subcons, "digest_and_payload" / GreedyBytes)

ENTRY_IDS = Struct("ledger_id" / fields.ledger_id, "entry_id" / fields.entry_id, "rest" / GreedyBytes)

ENTRY_RECORD = LengthFirst("length" / fields.record_length, *ENTRY_IDS.subcons)
"""An entry behind its length: the form of the journal, the entry log and a batch read reply alike."""

LAC_METADATA = Struct("ledger_id" / fields.ledger_id, "last_add_confirmed" / fields.entry_id)
"""What the digest of an explicit last add confirmed covers."""

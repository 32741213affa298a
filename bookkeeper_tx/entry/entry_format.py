"""The two formats of an entry: V1 in scope 0, V2 in every other scope (docs/protocol/entry.md).

A format is chosen once for a run, by its ledger id; all entries of a ledger have the same format.
"""

from types import ModuleType
from typing import Final

from construct import Bytes, Struct

from protocol_specs import codecs, fields
from protocol_specs.entry import v1, v2
from protocol_specs.ledger_id import SCOPED_MIN


class EntryFormat:
    """The codecs and offsets of one format; ``mask`` and ``version`` recognize it by an entry's first byte.

    ``first_id`` is the least ledger id whose entries have it.
    """

    def __init__(self, declarations: ModuleType, ledger_id_at: int, mask: int, version: int, first_id: int) -> None:
        self.record = codecs.derive("entry record", declarations.ENTRY_RECORD)
        """A record's length and ids."""
        self.metadata = codecs.derive("entry", declarations.ENTRY_METADATA)
        """The fields before the digest."""
        self.explicit_lac = codecs.derive("explicit last add confirmed", declarations.LAC_METADATA)
        """The fields before the digest in the body of a WRITE_LAC request."""
        self.head_size = self.record.size
        """Bytes of length and ids, the part that is checked of each record."""
        self.ids_size = self.head_size - codecs.RECORD_LENGTH.size
        """Bytes of the ids alone."""
        self.entry_id_at = self.metadata.offsets["entry_id"]
        """Where in an entry its id is; the bytes before it are the same in all entries of a ledger."""
        self.last_add_confirmed_at = self.metadata.offsets["last_add_confirmed"]
        self.entry_size_min = self.metadata.offsets["length"]
        """Bytes through the last add confirmed: the ledger storage reads them, so a shorter entry is refused."""
        self.head = codecs.derive(
            "head of a record",
            Struct("length" / fields.record_length, "owner" / Bytes(self.entry_id_at), "entry_id" / fields.entry_id),
        )
        """``record``, with all fields before the entry id as bytes."""
        self._ledger_id_at = ledger_id_at
        self._mask = mask
        self._version = version
        self._first_id = first_id

    def is_of(self, ledger_id: int, entry: bytes) -> bool:
        """Tell whether ``entry``, complete or only up to its entry id, is one of this ledger, in this format."""
        ledger_id_at, entry_id_at = self._ledger_id_at, self.entry_id_at
        return (
            len(entry) >= entry_id_at
            and entry[0] & self._mask == self._version
            and entry[ledger_id_at:entry_id_at] == ledger_id.to_bytes(entry_id_at - ledger_id_at, "big")
        )

    def ledger_of(self, owner: bytes) -> int | None:
        """Return the ledger whose entries start with ``owner``, up to the entry id; None if those of none do."""
        if owner[0] & self._mask != self._version:
            return None
        ledger_id = int.from_bytes(owner[self._ledger_id_at :], "big")
        return ledger_id if ledger_id >= self._first_id else None


V1: Final = EntryFormat(v1, 0, v2.NOT_V1, 0, 0)
V2: Final = EntryFormat(v2, 1, v2.VERSION_MASK, v2.VERSION, SCOPED_MIN)

ENTRY_IDS: Final = codecs.derive("entry ids", v1.ENTRY_IDS)
"""Ledger id and entry id, with which an entry of format V1 starts; requests and replies of V2 have them in that form
as well."""

ENTRY_HEAD: Final = codecs.derive("entry", Struct(*v1.ENTRY_METADATA.subcons[:3]))
"""Ledger id, entry id and last add confirmed, with which an entry of format V1 starts."""


def format_of(ledger_id: int) -> EntryFormat:
    """Return the format of the entries of a ledger."""
    return V1 if ledger_id < SCOPED_MIN else V2

"""The state of one ledger on a bookie."""

from collections.abc import Callable
from typing import Any

from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader
from bookkeeper_tx.model import ledger_name
from protocol_specs.fields import NO_ENTRY


class Ledger:
    """One ledger.  Everybody may read it; only the ledger storage changes it."""

    __slots__ = (
        "__weakref__",
        "deleted",
        "explicit_lac",
        "fenced",
        "indexed",
        "keyless",
        "last_add_confirmed",
        "last_entry_id",
        "last_flushed_id",
        "last_indexed_id",
        "ledger_id",
        "limbo",
        "master_key",
        "next_read_id",
        "read_ahead_bytes",
    )

    def __init__(self, ledger_id: int, master_key: bytes) -> None:
        self.ledger_id = ledger_id
        self.master_key = master_key
        self.fenced = False
        """Whether only recovering clients may add."""
        self.limbo = False
        """Whether entries may have been lost here: then what is not here cannot be told from what never was."""
        self.keyless = False
        """Whether its state was found without its key: then the first that comes is its key."""
        self.deleted = False
        """Whether it was garbage, and is not here any more; requests may still hold it."""
        self.explicit_lac: bytes | None = None
        """Body of the WRITE_LAC request with the highest last add confirmed."""
        self.last_add_confirmed = NO_ENTRY
        """The highest last add confirmed that was in an entry or in a WRITE_LAC request."""
        self.last_entry_id = NO_ENTRY
        """The highest id of the entries stored here."""
        self.indexed = False
        """Whether it has an index file."""
        self.last_indexed_id = NO_ENTRY
        """The highest id that has a location in that file; later entries are in memory or not here."""
        self.last_flushed_id = NO_ENTRY
        """The highest id that this process may have put into an entry log."""
        self.next_read_id = NO_ENTRY
        """The entry that a sequential reader asks for next."""
        self.read_ahead_bytes = 0
        """How many bytes to read at once for that reader."""

    def header(self) -> IndexHeader:
        """Return the header that the index file must have."""
        return IndexHeader(self.master_key, self.fenced, self.explicit_lac or b"", self.limbo, self.keyless)

    def __repr__(self) -> str:
        return f"<Ledger {ledger_name(self.ledger_id)}{' fenced' * self.fenced} last entry {self.last_entry_id}>"


def while_held(held: object, function: Callable[..., None], *arguments: Any) -> None:
    """Call ``function``; it finds ledgers, or errors, in memory, since the wait for this call has ``held`` them."""
    function(*arguments)

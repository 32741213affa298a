"""What a record on the disk says, in a journal or in an entry log, whichever ledger it is of."""

from typing import Final

from attrs import frozen

from bookkeeper_tx.entry.entry_format import V1, V2
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE
from bookkeeper_tx.model import ledger_name
from protocol_specs.disk import meta_entries
from protocol_specs.entry import v2
from protocol_specs.ledger_id import join

ENTRY: Final = "entry"
PROBLEM: Final = "problem"

SPECIAL_KINDS: Final = {
    meta_entries.LEDGER_KEY: "ledger key",
    meta_entries.FENCE: "fence",
    meta_entries.FORCE_LEDGER: "force ledger",
    meta_entries.EXPLICIT_LAC: "explicit last add confirmed",
    meta_entries.DELETED: "ledger deleted",
}
"""Negative entry id → the kind of such a record of the journal."""


@frozen
class Record:
    """A record, or bytes that are none."""

    offset: int
    """Of its length word in the file."""
    size: int
    """Bytes, length word included."""
    kind: str
    """``entry``, ``problem``, or what else it is."""
    ledger_id: int | None = None
    entry_id: int | None = None
    last_add_confirmed: int | None = None
    """Of an entry."""
    length: int | None = None
    """Of an entry: payload bytes of the ledger so far."""
    entry: bytes = b""
    """What follows the length word; empty of a problem."""
    text: str = ""
    """What is wrong, of a problem."""

    def __str__(self) -> str:
        if self.kind == PROBLEM:
            return f"offset {self.offset}: {self.text}"
        owner = "" if self.ledger_id is None else f" of ledger {ledger_name(self.ledger_id)}"
        if self.kind != ENTRY:
            return f"offset {self.offset}: {self.kind}{owner}, {self.size} bytes"
        rest = "" if self.length is None else f", last add confirmed {self.last_add_confirmed}, length {self.length}"
        return f"offset {self.offset}: entry {self.entry_id}{owner}, {self.size} bytes{rest}"


def one_line(error: Exception) -> str:
    """Return the text of an error as one line."""
    return " ".join(str(error).split())


def unreadable(path: str, error: Exception) -> str:
    """Return one line which says that a file cannot be read, and names it once."""
    if isinstance(error, OSError) and error.filename == path:
        return f"cannot read {path}: [Errno {error.errno}] {error.strerror}"
    text = one_line(error)
    return text if path in text else f"cannot read {path}: {text}"


def problem(offset: int, size: int, text: str) -> Record:
    """Return the record for bytes that are none."""
    return Record(offset, size, PROBLEM, text=text)


def read_record(data: bytes, at: int, size: int, offset: int) -> Record:
    """Return the record of ``size`` bytes, length word included, at ``data[at:]``, which is at ``offset`` of its file.

    A record of neither entry format, or one too short for its ids, is a problem.
    """
    start, end = at + RECORD_LENGTH_SIZE, at + size
    form = V2 if end > start and data[start] & v2.NOT_V1 and data[start] & v2.VERSION_MASK == v2.VERSION else V1
    if size < form.head_size:
        return problem(offset, size, f"a record of {end - start} bytes is too short for the ids of an entry")
    _, *owner, entry_id = form.record.unpack_fixed(data, at)
    ledger_id = join(owner[1], owner[2]) if form is V2 else owner[0]
    entry = bytes(data[start:end])
    if ledger_id < 0 or (form is V2 and not owner[1]):
        return Record(offset, size, "record of no ledger", ledger_id, entry_id, entry=entry)
    if entry_id < 0:
        return Record(offset, size, SPECIAL_KINDS.get(entry_id, f"record {entry_id}"), ledger_id, entry_id, entry=entry)
    if len(entry) < form.metadata.size:
        return Record(offset, size, ENTRY, ledger_id, entry_id, entry=entry)
    *_, last_add_confirmed, length = form.metadata.unpack_fixed(data, start)
    return Record(offset, size, ENTRY, ledger_id, entry_id, last_add_confirmed, length, entry)

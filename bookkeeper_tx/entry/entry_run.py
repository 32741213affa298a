"""A run of entries: consecutive entries of one ledger as ``[length][entry]`` records in one buffer.

The same bytes serve the journal, the write cache, the entry log and a batch read reply, so they are made once and
passed on uncut; an object per entry would cost more than the entry.

The run's ledger id decides the format of its entries: :func:`bookkeeper_tx.entry.entry_format.format_of`.
"""

from array import array
from collections.abc import Iterator, Sequence

from construct import Struct

from bookkeeper_tx.entry.entry_format import V1, format_of
from bookkeeper_tx.model import ledger_name
from protocol_specs import codecs, fields
from protocol_specs.fields import NO_ENTRY

ENTRY_RECORD = V1.record
ENTRY_METADATA = V1.metadata
RECORD_LENGTH_SIZE = ENTRY_RECORD.offsets["ledger_id"]

_CONFIRMED = codecs.derive("last add confirmed", Struct("last_add_confirmed" / fields.entry_id))


class EntryRun:
    """Entries ``first_entry_id`` … ``last_entry_id`` of ``ledger_id``.

    ``buffer`` holds their records back to back, anywhere in it; ``offsets`` says where each record starts and, as its
    last item, where the last one ends (``len(offsets) == count + 1``).  Neither may change afterwards.

    ``prefix`` is the number of bytes before each entry: those of a record's length word, or of a whole reply header if
    the buffer is a bookie's replies to single reads.
    """

    __slots__ = ("buffer", "first_entry_id", "ledger_id", "offsets", "prefix")

    def __init__(
        self,
        ledger_id: int,
        first_entry_id: int,
        buffer: bytes,
        offsets: Sequence[int],
        prefix: int = RECORD_LENGTH_SIZE,
    ) -> None:
        self.ledger_id = ledger_id
        self.first_entry_id = first_entry_id
        self.buffer = buffer
        self.offsets = offsets
        self.prefix = prefix

    @classmethod
    def of_entries(cls, ledger_id: int, first_entry_id: int, entries: Sequence[bytes]) -> "EntryRun":
        """Make a run of ``entries``, each from its ledger id on."""
        parts: list[bytes] = []
        offsets = array("Q", [0])
        at = 0
        for entry in entries:
            parts += (codecs.RECORD_LENGTH.pack_fixed(len(entry)), entry)
            at += RECORD_LENGTH_SIZE + len(entry)
            offsets.append(at)
        return cls(ledger_id, first_entry_id, b"".join(parts), offsets)

    @property
    def count(self) -> int:
        """How many entries there are."""
        return len(self.offsets) - 1

    @property
    def last_entry_id(self) -> int:
        """Id of the last of these entries."""
        return self.first_entry_id + len(self.offsets) - 2

    @property
    def size(self) -> int:
        """Bytes of all records."""
        return self.offsets[-1] - self.offsets[0]

    def __contains__(self, entry_id: int) -> bool:
        return 0 <= entry_id - self.first_entry_id < len(self.offsets) - 1

    def entry(self, entry_id: int) -> bytes:
        """Return the bytes of one entry."""
        index = entry_id - self.first_entry_id
        return self.buffer[self.offsets[index] + self.prefix : self.offsets[index + 1]]

    def part(self, first_entry_id: int, last_entry_id: int) -> "EntryRun":
        """Return the run of the entries ``first_entry_id`` … ``last_entry_id`` of this one, in the same buffer."""
        index, count = first_entry_id - self.first_entry_id, last_entry_id - first_entry_id + 1
        if count == len(self.offsets) - 1:
            return self
        offsets = self.offsets[index : index + count + 1]
        return EntryRun(self.ledger_id, first_entry_id, self.buffer, offsets, self.prefix)

    def by_itself(self) -> "EntryRun":
        """Return this run in a buffer of its own, unless it takes at least half of the one that it is in."""
        return self if len(self.buffer) <= 2 * self.size else self.copied()

    def copied(self) -> "EntryRun":
        """Return this run in a buffer of its own."""
        start, end = self.offsets[0], self.offsets[-1]
        offsets: Sequence[int]
        if type(self.offsets) is range:
            offsets = range(0, end - start + 1, self.offsets.step)
        else:
            offsets = array("Q", [offset - start for offset in self.offsets])
        return EntryRun(self.ledger_id, self.first_entry_id, bytes(self.buffer[start:end]), offsets, self.prefix)

    def records(self, first_entry_id: int, count: int) -> bytes | memoryview:
        """Return the records of ``count`` entries from ``first_entry_id`` on, length words included, as one slice."""
        index = first_entry_id - self.first_entry_id
        start, end = self.offsets[index], self.offsets[index + count]
        if start == 0 and end == len(self.buffer):
            return self.buffer
        return memoryview(self.buffer)[start:end]

    def __iter__(self) -> Iterator[bytes]:
        for entry_id in range(self.first_entry_id, self.last_entry_id + 1):
            yield self.entry(entry_id)

    def __repr__(self) -> str:
        return f"<EntryRun ledger {ledger_name(self.ledger_id)} entries {self.first_entry_id}..{self.last_entry_id}>"


def last_add_confirmed_of(run: EntryRun) -> int:
    """Return the last add confirmed in the last entry of ``run``, NO_ENTRY if the entry is too short to have one."""
    form = format_of(run.ledger_id)
    start = run.offsets[-2] + RECORD_LENGTH_SIZE
    if run.offsets[-1] - start < form.entry_size_min:
        return NO_ENTRY
    return int(_CONFIRMED.unpack_fixed(run.buffer, start + form.last_add_confirmed_at)[0])

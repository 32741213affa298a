"""The result of a read of several entries."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import overload

from bookkeeper_tx.entry.entry_format import format_of
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.model import Entry, ledger_name

LARGE_ENTRY = 4096
"""From this mean size on the bytes of answers are not kept besides their payloads: the copy of the rest costs less."""


def without_payloads(run: EntryRun) -> EntryRun:
    """Return the part of ``run`` that :class:`LedgerEntries` needs besides its payloads.

    Its buffer is not much larger than ``run``: what else the bookie has sent in it may be of other reads.
    """
    if run.size < LARGE_ENTRY * run.count:
        return run.by_itself()
    size = format_of(run.ledger_id).metadata.size
    buffer, prefix = run.buffer, run.prefix
    heads = b"".join([buffer[start + prefix : start + prefix + size] for start in run.offsets[:-1]])
    return EntryRun(run.ledger_id, run.first_entry_id, heads, range(0, len(heads) + 1, size), prefix=0)


class LedgerEntries(Sequence[Entry]):
    """Verified entries ``first_entry_id`` … ``last_entry_id`` of one ledger.

    A sequence: ``entries[0]`` is the :class:`Entry` of ``first_entry_id``.  :attr:`payloads` exists from the start;
    :class:`Entry` objects are made on access.  To keep only the payloads in memory, keep ``entries.payloads`` and drop
    this object.
    """

    __slots__ = ("_metadata", "_runs", "_starts", "first_entry_id", "ledger_id", "payloads")

    def __init__(
        self, ledger_id: int, first_entry_id: int, payloads: Sequence[bytes], runs: Sequence[EntryRun]
    ) -> None:
        self.ledger_id = ledger_id
        """Id of the ledger of these entries."""
        self.first_entry_id = first_entry_id
        """Id of the first of these entries."""
        self.payloads = payloads
        """One ``bytes`` an entry."""
        self._runs = runs
        self._metadata = format_of(ledger_id).metadata
        self._starts = [run.first_entry_id for run in runs]

    @property
    def last_entry_id(self) -> int:
        """Id of the last of these entries."""
        return self.first_entry_id + len(self.payloads) - 1

    def __len__(self) -> int:
        return len(self.payloads)

    @overload
    def __getitem__(self, index: int) -> Entry: ...

    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...

    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self.payloads)))]
        payload = self.payloads[index]
        entry_id = self.first_entry_id + (index if index >= 0 else index + len(self.payloads))
        *_, last_add_confirmed, length = self._metadata.unpack_fixed(self._stored(entry_id))
        return Entry(self.ledger_id, entry_id, payload, last_add_confirmed, length)

    def __iter__(self) -> Iterator[Entry]:
        for index in range(len(self.payloads)):
            yield self[index]

    def _stored(self, entry_id: int) -> bytes:
        return self._runs[bisect_right(self._starts, entry_id) - 1].entry(entry_id)

    def __repr__(self) -> str:
        return (
            f"<LedgerEntries ledger {ledger_name(self.ledger_id)} entries {self.first_entry_id}..{self.last_entry_id}>"
        )

"""The write cache: entries that are in the journal but not yet in the entry log, in the form they arrived in.

Entries come as runs, or as single records where the ledgers of a client alternate.  Neighbours among single records
are joined when they are read or flushed, not before: an object for a record would cost more than the record.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import TypeAlias

from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs.fields import NO_ENTRY

RUN_OVERHEAD_BYTES = 320
"""Memory of a run besides its records and offsets: the objects that hold them, and its places in two lists."""

OFFSET_BYTES = 8

RECORD_OVERHEAD_BYTES = 96
"""Memory of a single record besides its bytes: its object, that of its id, and its places in two lists."""

JOINED_COUNT_MAX = 64
"""Single records that one read gets as a run: a batch read asks again, and a single read joins few in vain."""

JOINED_SIZE_MAX = 64 * 1024
"""Bytes after which no more are joined: they are copied, and a reply may carry all of them."""

FLUSHED_COUNT_MAX = 4096
"""Single records that a flush gets as a run: they are copied, and longer runs would not be cheaper."""

FLUSHED_SIZE_MAX = 512 * 1024
"""Bytes after which a flush joins no more."""

Held: TypeAlias = EntryRun | bytes
"""A run, or the record of one entry."""


def compacted(run: EntryRun) -> EntryRun:
    """Return ``run``, or a run of the same entries that holds no more memory than it needs.

    Offsets become an array (a list of ints takes four times as much), and records get a buffer of their own if theirs
    has other bytes in it, more than a quarter of their size.
    """
    offsets, size = run.offsets, run.size
    if len(run.buffer) - size > size >> 2:
        return run.copied()
    if type(offsets) is range or type(offsets) is array:
        return run
    return EntryRun(run.ledger_id, run.first_entry_id, run.buffer, array("Q", offsets))


def part_of(run: EntryRun, first_entry_id: int, count: int) -> EntryRun:
    """Return ``count`` entries of ``run`` from ``first_entry_id`` on as a run of its own over the same buffer."""
    index = first_entry_id - run.first_entry_id
    return EntryRun(run.ledger_id, first_entry_id, run.buffer, run.offsets[index : index + count + 1])


def absent_parts(run: EntryRun, is_present: Callable[[int], bool]) -> list[EntryRun]:
    """Return the entries of ``run`` that are not present, in as few runs as possible."""
    parts: list[EntryRun] = []
    first = run.first_entry_id
    for entry_id in range(first, run.last_entry_id + 1):
        if is_present(entry_id):
            if entry_id > first:
                parts.append(part_of(run, first, entry_id - first))
            first = entry_id + 1
    if first <= run.last_entry_id:
        parts.append(part_of(run, first, run.last_entry_id + 1 - first))
    return parts


def run_of_records(ledger_id: int, first_entry_id: int, records: list[bytes]) -> EntryRun:
    """Return the run of the entries of consecutive ``records``."""
    sizes = list(map(len, records))
    if len(set(sizes)) == 1:
        size = sizes[0]
        buffer = records[0] if len(records) == 1 else b"".join(records)
        return EntryRun(ledger_id, first_entry_id, buffer, range(0, len(buffer) + 1, size))
    return EntryRun(ledger_id, first_entry_id, b"".join(records), array("Q", accumulate(sizes, initial=0)))


class LedgerRuns:
    """The runs and single records of one ledger by first entry id, ascending; they do not overlap."""

    __slots__ = ("firsts", "held", "last_entry_id", "ledger_id", "size_bytes")

    def __init__(self, ledger_id: int) -> None:
        self.ledger_id = ledger_id
        self.size_bytes = RUN_OVERHEAD_BYTES
        """Memory held, overhead included."""
        self.firsts: list[int] = []
        self.held: list[Held] = []
        self.last_entry_id = NO_ENTRY

    def add(self, run: EntryRun) -> None:
        """Take a run none of whose entries is here."""
        self.size_bytes += len(run.buffer) + len(run.offsets) * OFFSET_BYTES + RUN_OVERHEAD_BYTES
        self._add(run.first_entry_id, run.last_entry_id, run)

    def add_record(self, entry_id: int, record: bytes) -> None:
        """Take the record of an entry that is not here."""
        self.size_bytes += len(record) + RECORD_OVERHEAD_BYTES
        if entry_id > self.last_entry_id:
            self.firsts.append(entry_id)
            self.held.append(record)
            self.last_entry_id = entry_id
        else:
            self._add(entry_id, entry_id, record)

    def find(self, entry_id: int) -> EntryRun | None:
        """Return a run that holds ``entry_id``, if the entry is here."""
        at = bisect_right(self.firsts, entry_id) - 1
        held = self._held_at(at, entry_id)
        if not isinstance(held, bytes):
            return held
        return run_of_records(self.ledger_id, entry_id, self._neighbours(at, JOINED_COUNT_MAX, JOINED_SIZE_MAX))

    def find_held(self, entry_id: int) -> Held | None:
        """Return the run, or the record, that holds ``entry_id``, if the entry is here."""
        return self._held_at(bisect_right(self.firsts, entry_id) - 1, entry_id)

    def runs(self) -> list[EntryRun]:
        """Return all entries as runs, ascending; neighbours that came by themselves are joined."""
        runs: list[EntryRun] = []
        at = 0
        while at < len(self.held):
            held = self.held[at]
            if isinstance(held, EntryRun):
                runs.append(held)
                at += 1
            else:
                records = self._neighbours(at, FLUSHED_COUNT_MAX, FLUSHED_SIZE_MAX)
                runs.append(run_of_records(self.ledger_id, self.firsts[at], records))
                at += len(records)
        return runs

    def ranges(self) -> list[range]:
        """Return the ids of the entries here, ascending."""
        return [
            range(first, first + (held.count if isinstance(held, EntryRun) else 1))
            for first, held in zip(self.firsts, self.held, strict=True)
        ]

    def _held_at(self, at: int, entry_id: int) -> Held | None:
        if at < 0:
            return None
        held = self.held[at]
        is_here = self.firsts[at] == entry_id if isinstance(held, bytes) else entry_id in held
        return held if is_here else None

    def _add(self, first: int, last: int, held: Held) -> None:
        if first > self.last_entry_id:
            self.firsts.append(first)
            self.held.append(held)
            self.last_entry_id = last
        else:
            at = bisect_left(self.firsts, first)
            self.firsts.insert(at, first)
            self.held.insert(at, held)

    def _neighbours(self, at: int, count_max: int, size_max: int) -> list[bytes]:
        """Return the single records from the one at ``at`` on whose ids follow one another, at least that one.

        They are at most ``count_max``, and all but the last have fewer than ``size_max`` bytes together.
        """
        firsts, held = self.firsts, self.held
        records: list[bytes] = []
        expected, end, size = firsts[at], min(at + count_max, len(firsts)), 0
        while at < end and firsts[at] == expected and (size < size_max or not records):
            record = held[at]
            if type(record) is not bytes:
                break
            records.append(record)
            size += len(record)
            expected += 1
            at += 1
        return records


class WriteCache:
    """Entries of many ledgers.  Adding at the end of a ledger costs the same whatever the length of the run."""

    def __init__(self) -> None:
        self.size_bytes = 0
        """Memory held, overhead included."""
        self._ledgers: dict[int, LedgerRuns] = {}
        self.find_ledger: Callable[[int], LedgerRuns | None] = self._ledgers.get
        """Gives what there is of a ledger; the cheapest question."""

    def add(self, run: EntryRun) -> None:
        """Take a run none of whose entries is here."""
        run = compacted(run)
        runs = self._ledgers.get(run.ledger_id) or self._new(run.ledger_id)
        before = runs.size_bytes
        runs.add(run)
        self.size_bytes += runs.size_bytes - before

    def add_record(self, ledger_id: int, entry_id: int, record: bytes) -> None:
        """Take the record of an entry that is not here."""
        runs = self._ledgers.get(ledger_id) or self._new(ledger_id)
        runs.add_record(entry_id, record)
        self.size_bytes += len(record) + RECORD_OVERHEAD_BYTES

    def find(self, ledger_id: int, entry_id: int) -> EntryRun | None:
        """Return a run that holds this entry, if it is here."""
        runs = self._ledgers.get(ledger_id)
        return None if runs is None else runs.find(entry_id)

    def ranges(self, ledger_id: int) -> list[range]:
        """Return the ids of the entries of a ledger here, ascending."""
        runs = self._ledgers.get(ledger_id)
        return [] if runs is None else runs.ranges()

    def last_entry_id(self, ledger_id: int) -> int:
        """Return the highest entry id of the ledger here, or ``NO_ENTRY``."""
        runs = self._ledgers.get(ledger_id)
        return NO_ENTRY if runs is None else runs.last_entry_id

    def forget(self, ledger_ids: Iterable[int]) -> None:
        """Forget all entries of these ledgers."""
        for ledger_id in ledger_ids:
            runs = self._ledgers.pop(ledger_id, None)
            if runs is not None:
                self.size_bytes -= runs.size_bytes

    def __contains__(self, ledger_id: int) -> bool:
        return ledger_id in self._ledgers

    def __bool__(self) -> bool:
        return bool(self._ledgers)

    def __iter__(self) -> Iterator[tuple[int, list[EntryRun]]]:
        """Iterate over ledger ids and their runs, both ascending: the order in which they go to the entry log."""
        for ledger_id in sorted(self._ledgers):
            yield ledger_id, self._ledgers[ledger_id].runs()

    def _new(self, ledger_id: int) -> LedgerRuns:
        runs = self._ledgers[ledger_id] = LedgerRuns(ledger_id)
        self.size_bytes += runs.size_bytes
        return runs

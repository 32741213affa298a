"""The write cache: entries that are in the journal but not yet in the entry log, as the runs they arrived in."""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator

from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs.fields import NO_ENTRY

RUN_OVERHEAD_BYTES = 320
"""Memory of a run besides its records and offsets: the objects that hold them, and its places in two lists."""

OFFSET_BYTES = 8


def compacted(run: EntryRun) -> EntryRun:
    """Return ``run``, or a run of the same entries that holds no more memory than it needs.

    Offsets become an array (a list of ints takes four times as much), and records get a buffer of their own if theirs
    has other bytes in it, more than a quarter of their size.
    """
    offsets, buffer = run.offsets, run.buffer
    start, end = offsets[0], offsets[-1]
    if len(buffer) - (end - start) > (end - start) >> 2:
        buffer = bytes(buffer[start:end])
        if type(offsets) is range:
            offsets = range(0, end - start + 1, offsets.step)
        else:
            offsets = array("Q", [offset - start for offset in offsets])
    elif type(offsets) is range or type(offsets) is array:
        return run
    else:
        offsets = array("Q", offsets)
    return EntryRun(run.ledger_id, run.first_entry_id, buffer, offsets)


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


class LedgerRuns:
    """The runs of one ledger by first entry id, ascending; they do not overlap."""

    __slots__ = ("firsts", "last_entry_id", "runs")

    def __init__(self) -> None:
        self.firsts: list[int] = []
        self.runs: list[EntryRun] = []
        self.last_entry_id = NO_ENTRY

    def add(self, run: EntryRun) -> None:
        """Take a run none of whose entries is here."""
        first = run.first_entry_id
        if first > self.last_entry_id:
            self.firsts.append(first)
            self.runs.append(run)
            self.last_entry_id = run.last_entry_id
        else:
            at = bisect_left(self.firsts, first)
            self.firsts.insert(at, first)
            self.runs.insert(at, run)

    def find(self, entry_id: int) -> EntryRun | None:
        """Return the run that holds ``entry_id``, if there is one."""
        at = bisect_right(self.firsts, entry_id) - 1
        if at >= 0 and entry_id in self.runs[at]:
            return self.runs[at]
        return None


class WriteCache:
    """Runs of many ledgers.  Adding at the end of a ledger costs the same whatever the length of the run."""

    def __init__(self) -> None:
        self.size_bytes = 0
        """Memory held, overhead included."""
        self.entry_count = 0
        self._ledgers: dict[int, LedgerRuns] = {}

    def add(self, run: EntryRun) -> None:
        """Take a run none of whose entries is here."""
        run = compacted(run)
        runs = self._ledgers.get(run.ledger_id)
        if runs is None:
            runs = self._ledgers[run.ledger_id] = LedgerRuns()
            self.size_bytes += RUN_OVERHEAD_BYTES
        runs.add(run)
        count = len(run.offsets)
        self.entry_count += count - 1
        self.size_bytes += len(run.buffer) + count * OFFSET_BYTES + RUN_OVERHEAD_BYTES

    def find(self, ledger_id: int, entry_id: int) -> EntryRun | None:
        """Return the run that holds this entry, if there is one."""
        runs = self._ledgers.get(ledger_id)
        return None if runs is None else runs.find(entry_id)

    def ranges(self, ledger_id: int) -> list[range]:
        """Return the ids of the entries of a ledger here, ascending."""
        runs = self._ledgers.get(ledger_id)
        return [] if runs is None else [range(run.first_entry_id, run.last_entry_id + 1) for run in runs.runs]

    def last_entry_id(self, ledger_id: int) -> int:
        """Return the highest entry id of the ledger here, or ``NO_ENTRY``."""
        runs = self._ledgers.get(ledger_id)
        return NO_ENTRY if runs is None else runs.last_entry_id

    def __contains__(self, ledger_id: int) -> bool:
        return ledger_id in self._ledgers

    def __bool__(self) -> bool:
        return bool(self._ledgers)

    def __iter__(self) -> Iterator[tuple[int, list[EntryRun]]]:
        """Iterate over ledger ids and their runs, both ascending: the order in which they go to the entry log."""
        for ledger_id in sorted(self._ledgers):
            yield ledger_id, self._ledgers[ledger_id].runs

"""Runs that were read ahead from entry logs, kept for the next read."""

from bisect import bisect_left, bisect_right
from collections import OrderedDict

from bookkeeper_tx.bookie.storage.write_cache import OFFSET_BYTES, RUN_OVERHEAD_BYTES
from bookkeeper_tx.entry.entry_run import EntryRun


def _memory_of(run: EntryRun) -> int:
    return len(run.buffer) + len(run.offsets) * OFFSET_BYTES + RUN_OVERHEAD_BYTES


class ReadCache:
    """The runs used last, in ``size_max`` bytes of memory.  Entries never change, so no run gets out of date.

    A run counts as used when it is added, and whenever its ledger's reads come to it from another one.
    """

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self.size_bytes = 0
        self._runs: OrderedDict[tuple[int, int], EntryRun] = OrderedDict()
        self._firsts: dict[int, list[int]] = {}
        self._latest: dict[int, EntryRun] = {}
        """The run of each ledger that was found last: the next read is mostly of the same one."""

    @property
    def ledger_share(self) -> int:
        """Bytes that each ledger here can have so that runs that were read to their end push out no others."""
        return self._size_max // (2 * (len(self._firsts) or 1))

    def find(self, ledger_id: int, entry_id: int) -> EntryRun | None:
        """Return a run that holds this entry, if there is one."""
        latest = self._latest.get(ledger_id)
        if latest is not None and 0 <= entry_id - latest.first_entry_id < len(latest.offsets) - 1:
            return latest
        firsts = self._firsts.get(ledger_id)
        if firsts is None:
            return None
        at = bisect_right(firsts, entry_id) - 1
        if at < 0:
            return None
        key = (ledger_id, firsts[at])
        run = self._runs[key]
        if entry_id not in run:
            return None
        self._runs.move_to_end(key)
        self._latest[ledger_id] = run
        return run

    def add(self, run: EntryRun) -> None:
        """Keep ``run``, and drop those that hold only entries of ``run``."""
        firsts = self._firsts.setdefault(run.ledger_id, [])
        at = bisect_left(firsts, run.first_entry_id)
        covered = [
            first
            for first in firsts[at : bisect_right(firsts, run.last_entry_id)]
            if self._runs[run.ledger_id, first].last_entry_id <= run.last_entry_id
        ]
        for first in covered:
            self._remove((run.ledger_id, first))
        if run.first_entry_id in firsts:
            return
        firsts.insert(at, run.first_entry_id)
        self._firsts[run.ledger_id] = firsts
        self._runs[run.ledger_id, run.first_entry_id] = run
        self.size_bytes += _memory_of(run)
        while self.size_bytes > self._size_max and len(self._runs) > 1:
            self._remove(next(iter(self._runs)))

    def forget_before(self, run: EntryRun) -> None:
        """Forget the run before the one that ``run`` continues: its memory is still warm for the next run."""
        firsts = self._firsts[run.ledger_id]
        at = bisect_left(firsts, run.first_entry_id)
        if at >= 2 and self._runs[run.ledger_id, firsts[at - 1]].last_entry_id + 1 == run.first_entry_id:
            self._remove((run.ledger_id, firsts[at - 2]))

    def forget(self, ledger_id: int) -> None:
        """Forget all runs of a ledger."""
        for first in list(self._firsts.get(ledger_id, ())):
            self._remove((ledger_id, first))

    def _remove(self, key: tuple[int, int]) -> None:
        run = self._runs.pop(key)
        self.size_bytes -= _memory_of(run)
        ledger_id, first = key
        if self._latest.get(ledger_id) is run:
            del self._latest[ledger_id]
        firsts = self._firsts[ledger_id]
        del firsts[bisect_left(firsts, first)]
        if not firsts:
            del self._firsts[ledger_id]

"""Metrics of the journals: their groups, and what waits for them."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from bookkeeper_tx.bookie.journal.journal import GroupTimes, Journal, State
from bookkeeper_tx.bookie.metrics.exposition import Exposition
from bookkeeper_tx.bookie.metrics.summary import Outcomes

MILLISECONDS_PER_S: Final = 1000


class _OneJournal:
    """Is told how long each group of one journal took.  All appends of a group count as long as its first one."""

    def __init__(self, seconds: Callable[[], float], journal: Journal) -> None:
        self._journal = journal
        self._adds = Outcomes(seconds)
        self._queued = Outcomes(seconds)
        self._synced = Outcomes(seconds)
        self._group_bytes = Outcomes(seconds)
        self._group_counts = Outcomes(seconds)
        self._written_bytes = 0

    def timed(self, group: GroupTimes) -> None:
        succeeded, count = group.succeeded, group.append_count
        waited_ms, written_ms = group.waited_s * MILLISECONDS_PER_S, group.written_s * MILLISECONDS_PER_S
        self._adds.observe(waited_ms + written_ms, succeeded, count)
        self._queued.observe(waited_ms, succeeded, count)
        self._synced.observe(written_ms, succeeded)
        self._group_bytes.observe(group.size_bytes, succeeded)
        self._group_counts.observe(count, succeeded)
        if succeeded:
            self._written_bytes += group.size_bytes

    def write(self, out: Exposition, index: str, queued_bytes_max: int) -> None:
        journal, name = self._journal, "bookie_journal_JOURNAL_{}".format
        out.summary(name("ADD_ENTRY"), self._adds, journal=index)
        out.summary(name("QUEUE_LATENCY"), self._queued, journal=index)
        out.summary(name("SYNC"), self._synced, journal=index)
        out.summary(name("FORCE_WRITE_BATCH_BYTES"), self._group_bytes, journal=index)
        out.summary(name("FORCE_WRITE_BATCH_ENTRIES"), self._group_counts, journal=index)
        out.summary(name("FORCE_WRITE_GROUPING_TOTAL"), self._group_counts, journal=index)
        out.counter(name("WRITE_BYTES"), self._written_bytes, journalIndex=index)
        out.counter(name("QUEUE_SIZE"), journal.queued_count, journalIndex=index)
        out.counter(name("FORCE_WRITE_QUEUE_SIZE"), int(journal.state is State.WRITING), journalIndex=index)
        out.counter(name("CB_QUEUE_SIZE"), 0, journalIndex=index)
        out.gauge(name("MEMORY_USED"), journal.queued_bytes, journalIndex=index)
        out.gauge(name("MEMORY_MAX"), queued_bytes_max, journalIndex=index)


class JournalMetrics:
    """Is told how long each group of each journal took."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._journals: list[_OneJournal] = []
        self.adds = Outcomes(seconds)
        """From an append until it was on the disk, in milliseconds, of all journals."""
        self.written_bytes = 0

    def watch(self, journals: Sequence[Journal]) -> None:
        """Look at the journals from now on."""
        for journal in journals:
            one = _OneJournal(self._seconds, journal)
            self._journals.append(one)
            journal.on_group_timed = partial(self._timed, one)

    def _timed(self, journal: _OneJournal, group: GroupTimes) -> None:
        journal.timed(group)
        took_ms = (group.waited_s + group.written_s) * MILLISECONDS_PER_S
        self.adds.observe(took_ms, group.succeeded, group.append_count)
        if group.succeeded:
            self.written_bytes += group.size_bytes

    def write(self, out: Exposition, queued_bytes_max: int) -> None:
        """Write them; ``queued_bytes_max`` is how much may wait for each."""
        for index, journal in enumerate(self._journals):
            journal.write(out, str(index), queued_bytes_max)
        out.gauge("bookie_JOURNAL_DIRS", len(self._journals))

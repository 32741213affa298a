"""Histories of bookies that are configured to acknowledge what a crash may lose: that is lost, and nothing else.

After each crash the replies are forgotten whose loss the configuration allows; all others must still be true.
"""

from typing import Any

from attrs import frozen

from tests.simulation.bookie_history import BookieHistory
from tests.simulation.bookie_requests import Told


@frozen
class _Promised:
    """What clients were told of a ledger up to some moment."""

    acknowledged: frozenset[int]
    seen: dict[int, bytes]
    fenced: bool
    last_add_confirmed: int | None

    @classmethod
    def by(cls, told: Told) -> "_Promised":
        return cls(frozenset(told.acknowledged), dict(told.seen), told.fenced, told.last_add_confirmed)


class UnsyncedHistory(BookieHistory):
    """With ``journalSyncData=false`` all that was told since the last sync of the journal may be lost."""

    deletes_ledgers = False
    settings = {"journal_data_synced": False, "page_cache_flush_interval_s": 0.5}

    def __init__(self, seed: int, syncs_lie: bool = False) -> None:
        super().__init__(seed, syncs_lie)
        self.lost_count = 0
        self._synced = self._told_so_far = self._promised()

    def start(self) -> None:
        for ledger_id, promised in self._synced.items():
            told = self.told[ledger_id]
            self.lost_count += len(told.acknowledged - promised.acknowledged)
            told.acknowledged, told.seen = set(promised.acknowledged), dict(promised.seen)
            told.fenced, told.last_add_confirmed = promised.fenced, promised.last_add_confirmed
        super().start()
        journal = self.bookie._journal
        self._mark, self._look_again = journal.mark, journal.on_group_done
        journal.on_group_done = self._group_done

    def check(self) -> None:
        super().check()
        # What was found at a start is on the disk.
        self._synced = self._told_so_far = self._promised()

    def _group_done(self) -> None:
        """Called when all replies were sent that waited for a group of the journal."""
        journal, promised = self.bookie._journal, self._promised()
        if journal.mark != self._mark:  # with a group that is not synced: for the end of the file before its own
            self._mark, self._synced = journal.mark, self._told_so_far if journal.unsynced else promised
        self._told_so_far = promised
        self._look_again()

    def _promised(self) -> dict[int, _Promised]:
        return {ledger_id: _Promised.by(told) for ledger_id, told in self.told.items()}


class UnjournaledHistory(BookieHistory):
    """With ``journalWriteData=false`` entries may be lost that were not flushed, and nothing else."""

    deletes_ledgers = False
    settings = {"journal_data_written": False}

    def __init__(self, seed: int, syncs_lie: bool = False) -> None:
        super().__init__(seed, syncs_lie)
        self.lost_count = 0
        self.bookie: Any = None

    def start(self) -> None:
        if self.bookie is not None:
            find = self.bookie._storage._unflushed.find
            for ledger_id, told in self.told.items():
                lost = {entry_id for entry_id in told.acknowledged if find(ledger_id, entry_id) is not None}
                told.acknowledged -= lost
                told.seen = {entry_id: seen for entry_id, seen in told.seen.items() if entry_id not in lost}
                self.lost_count += len(lost)
        super().start()

"""Syncing a journal whose records are acknowledged before: so often, and no oftener."""

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from bookkeeper_tx.bookie.journal.journals import AnyJournal


class PeriodicSync:
    """Syncs ``journal`` every ``interval_s`` seconds while it has records that are not synced."""

    def __init__(self, clock: IReactorTime, journal: AnyJournal, interval_s: float) -> None:
        self._clock = clock
        self._journal = journal
        self._interval_s = interval_s
        self._timer: IDelayedCall | None = None

    def start(self) -> None:
        self._timer = self._clock.callLater(self._interval_s, self._due)

    def stop(self) -> None:
        """Sync no more; the stop of a journal syncs the rest."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        if self._journal.unsynced:
            self._journal.sync()
        self.start()

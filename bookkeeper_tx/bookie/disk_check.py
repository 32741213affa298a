"""A look at the disks, now and then: whether a journal that could not be written can be written again."""

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from bookkeeper_tx.bookie.journal.journal import Journal


class DiskCheck:
    """Looks at the disks every ``interval_s`` seconds."""

    def __init__(self, clock: IReactorTime, interval_s: float, journal: Journal) -> None:
        self._clock = clock
        self._interval_s = interval_s
        self._journal = journal
        self._timer: IDelayedCall | None = None

    def start(self) -> None:
        """Look again and again."""
        self._timer = self._clock.callLater(self._interval_s, self._due)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self.start()
        self._journal.try_again()

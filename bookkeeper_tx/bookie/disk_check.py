"""A look at the disks, now and then: whose directories they have, how full they are, whether the journal works."""

from collections.abc import Callable

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.directories import DirectoryLost
from bookkeeper_tx.bookie.journal.journals import AnyJournal
from bookkeeper_tx.threads.worker import Threads

log = Logger()


class DiskCheck:
    """Looks at the disks every ``interval_s`` seconds.

    ``look()`` blocks, so it is called on ``worker``; ``looked()`` is called afterwards, on the reactor thread,
    also after an OSError: disks that answer are known then.  A DirectoryLost that ``look`` raises goes to ``on_fatal``.
    """

    def __init__(
        self,
        clock: IReactorTime,
        interval_s: float,
        worker: Threads,
        look: Callable[[], None],
        looked: Callable[[], None],
        journal: AnyJournal,
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        self._clock = clock
        self._interval_s = interval_s
        self._worker = worker
        self._look = look
        self._looked = looked
        self._journal = journal
        self._on_fatal = on_fatal
        self._timer: IDelayedCall | None = None
        self._looking: Deferred[None] = succeed(None)
        self._stopped = False

    def start(self) -> Deferred[None]:
        """Look now, and then again and again; fires after the first look."""
        self._looking = self._worker.run(self._look).addCallbacks(lambda _: self._looked(), self._not_looked)
        self._looking.addCallback(self._schedule)
        return self._looking

    def stop(self) -> None:
        """Look no more."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _schedule(self, _: object) -> None:
        if not self._stopped:
            self._timer = self._clock.callLater(self._interval_s, self._due)

    def _due(self) -> None:
        self._timer = None
        self._journal.try_again()
        self.start()

    def _not_looked(self, failure: Failure) -> None:
        if isinstance(failure.value, DirectoryLost):
            self._on_fatal(failure.value)
        else:
            log.error("cannot look at all disks: {error}", error=failure.value)
            self._looked()

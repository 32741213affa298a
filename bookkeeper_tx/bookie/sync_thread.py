"""Checkpoints: when the ledger storage is flushed, and then the mark moved and journals removed.

    IDLE --interval over, cache half full, stop--> FLUSHING --mark stored--> IDLE (again at once if asked for meanwhile)
                                                   FLUSHING --failed--> IDLE, and again after the retry delay; then
                                                       once more, for later entries are not in the retry

The order is what makes a crash harmless: the mark is sampled, then everything is flushed that was added before, then
the mark is stored, and only then are journal files before it removed.
"""

from collections.abc import Callable
from typing import Final, Protocol

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.bookie.storage.ledger_storage import FlushGivenUp
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.threads.worker import Threads

RETRY_DELAY_S: Final = 1.0
"""Seconds between a failed flush and the next attempt."""

STOP_LIMIT_S: Final = 5.0
"""Seconds that a stop may flush: service managers kill a process after 10 or 30.  The rest stays in the journal."""

log = Logger()


class MarkedJournal(Protocol):
    """The part of the journal that checkpoints need."""

    @property
    def mark(self) -> LogMark: ...

    def remove_before(self, mark: LogMark) -> Deferred[list[str]]: ...


class SyncThread:
    """Flushes ``storage`` at least every ``flush_interval_s`` seconds while it has changes.

    ``write_mark(mark)`` stores the mark durably; it blocks and runs on ``worker``.  ``stop_limit_s``: how long a stop
    may flush; None if what is not flushed is nowhere else.
    """

    def __init__(
        self,
        clock: IReactorTime,
        storage: AnyStorage,
        journal: MarkedJournal,
        write_mark: Callable[[LogMark], None],
        worker: Threads,
        flush_interval_s: float,
        stop_limit_s: float | None = STOP_LIMIT_S,
    ) -> None:
        self._clock = clock
        self._storage = storage
        self._journal = journal
        self._write_mark = write_mark
        self._worker = worker
        self._flush_interval_s = flush_interval_s
        self._stop_limit_s = stop_limit_s
        self.on_flushed: Callable[[float, bool], None] | None = None
        """Called after each flush, with the seconds that it took and whether it succeeded."""
        self._written: LogMark | None = None
        self._flushing: Deferred[bool] | None = None
        self._again = False
        self._retrying = False
        self._timer: IDelayedCall | None = None
        self._stopped = False

    def start(self, marked: LogMark | None = None) -> None:
        """Begin to flush, at once what replay has found; to be called once the journal has started.

        ``marked`` is the mark that is durable; None if there is none.
        """
        self._written = marked
        self._storage.on_flush_wanted = self._wanted
        if self._storage.dirty:
            self._begin()
        else:
            self._schedule(self._flush_interval_s)

    def stop(self) -> Deferred[bool]:
        """Flush a last time; fires with whether that succeeded, in about ``stop_limit_s`` seconds at most."""
        if self._stop_limit_s is None:
            return self._stop()
        limit = self._clock.callLater(self._stop_limit_s, self._storage.give_up_flush)

        def stopped(succeeded: bool) -> bool:
            if limit.active():
                limit.cancel()
            return succeeded

        return self._stop().addCallback(stopped)

    def _stop(self) -> Deferred[bool]:
        self._stopped = True
        self._storage.on_flush_wanted = lambda: None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._flushing is None:
            return self._flush_all()
        last: Deferred[bool] = Deferred()
        self._flushing.addCallback(lambda _: self._flush_all().chainDeferred(last))
        return last

    def _flush_all(self) -> Deferred[bool]:
        """Make checkpoints while they succeed and there are changes; fires with whether the last one succeeded."""

        def flushed(succeeded: bool) -> bool | Deferred[bool]:
            # The first one may have been the rest of one that had failed, without what came later.
            return self._flush_all() if succeeded and self._storage.dirty else succeeded

        return self._checkpoint().addCallback(flushed)

    def remove_journals(self) -> None:
        """Remove journal files before the mark now, not after the next flush."""
        if self._written is not None:
            removing = self._journal.remove_before(self._written)
            removing.addErrback(lambda failure: log.error("old journals stay: {error}", error=failure.value))

    def _wanted(self) -> None:
        if self._flushing is None:
            self._begin()
        else:
            self._again = True

    def _begin(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._again = self._retrying
        flushing = self._flushing = Deferred()
        self._checkpoint().addCallback(self._done, flushing)

    def _done(self, succeeded: bool, flushing: Deferred[bool]) -> None:
        self._flushing = None
        self._retrying = not succeeded
        flushing.callback(succeeded)
        if self._stopped:
            return
        if not succeeded:
            self._schedule(min(RETRY_DELAY_S, self._flush_interval_s))
        elif self._again:
            self._begin()
        else:
            self._schedule(self._flush_interval_s)

    def _schedule(self, delay_s: float) -> None:
        self._timer = self._clock.callLater(delay_s, self._due)

    def _due(self) -> None:
        self._timer = None
        self._begin()

    def _checkpoint(self) -> Deferred[bool]:
        """Flush and move the mark; fires with whether that succeeded, never fails."""
        if not self._storage.dirty and self._journal.mark == self._written:
            return succeed(True)
        begun_s = self._clock.seconds()
        return (
            self._storage.flush(lambda: self._journal.mark)
            .addCallback(self._store_mark)
            .addCallbacks(lambda _: True, self._failed)
            .addCallback(self._flushed, begun_s)
        )

    def _flushed(self, succeeded: bool, begun_s: float) -> bool:
        if self.on_flushed is not None:
            self.on_flushed(self._clock.seconds() - begun_s, succeeded)
        return succeeded

    def _store_mark(self, mark: LogMark) -> "Deferred[object] | None":
        if mark == self._written or self._storage.holds_mark:
            return None
        storing: Deferred[object] = self._worker.run(self._write_mark, mark)
        return storing.addCallback(self._mark_stored, mark)

    def _mark_stored(self, _: object, mark: LogMark) -> Deferred[list[str]]:
        self._written = mark
        return self._journal.remove_before(mark)

    def _failed(self, failure: Failure) -> bool:
        if failure.check(FlushGivenUp):  # type: ignore[no-untyped-call]
            log.info("stopped before all was flushed: the next start reads the rest from the journal")
            return False
        log.error("no checkpoint, the mark stays at {mark}: {error}", mark=self._written, error=failure.value)
        return False

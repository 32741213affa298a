"""The flushes of a storage: one at a time, slice by slice, off the reactor thread."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from twisted.internet.defer import Deferred, DeferredLock
from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import out_of_descriptors
from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.bookie.storage.flush import Flushed, StorageFlush
from bookkeeper_tx.bookie.storage.unflushed import Snapshot, Unflushed
from bookkeeper_tx.threads.worker import Threads

log = Logger()


_Result = TypeVar("_Result")


class FlushGivenUp(Exception):
    """The flush has ended before its end, because the bookie stops."""


class Flushes:
    """Has ``flusher`` write the changes in ``unflushed``; ``on_slice`` gets each slice that has become durable."""

    def __init__(
        self, unflushed: Unflushed, flusher: StorageFlush, worker: Threads, on_slice: Callable[[Flushed], None]
    ) -> None:
        self._unflushed = unflushed
        self._flusher = flusher
        self._worker = worker
        self._on_slice = on_slice
        self._lock = DeferredLock()
        self._given_up = False
        self.failed = False
        """Whether the last flush failed: the disk is full or broken."""
        self.on_failed_changed: Callable[[], None] = lambda: None
        """Called when ``failed`` has changed."""
        self.on_marked: Callable[[], Awaitable[None]] = _nothing
        """Called when the mark of a flush was sampled, and awaited before the changes are taken."""

    def run(self, mark_of: Callable[[], LogMark]) -> Deferred[LogMark]:
        """Flush what there is now; fires with ``mark_of()``, called before; see :meth:`LedgerStorage.flush`."""
        return self._lock.run(lambda: Deferred.fromCoroutine(self._run(mark_of)))

    def run_now(self) -> None:
        """Flush on this thread, while nothing else runs.  Raises OSError; the next flush begins with what is left."""
        if self._unflushed.snapshot is not None:
            self._flush_now(self._unflushed.snapshot)
        self._flush_now(self._unflushed.take_snapshot(None))

    def _flush_now(self, snapshot: Snapshot) -> None:
        self._flusher.begin(snapshot)
        while self._flusher.left:
            self._on_slice(self._flusher.write_slice())
        self._unflushed.all_flushed()

    def give_up(self) -> None:
        """End a flush under way, and any later one, after the slice that is being written; it fails with FlushGivenUp.

        What is left is in the journal, before which the mark stays.
        """
        self._given_up = True

    def when_idle(self, function: Callable[[], None]) -> Deferred[None]:
        """Call ``function``, which blocks, once no flush is under way; fires when it has returned."""
        return self._lock.run(lambda: self._worker.run(function))

    def between(self, work: Callable[[], Deferred[_Result]]) -> Deferred[_Result]:
        """Call ``work`` once no flush is under way; fires as its result does, and no flush begins before that."""
        return self._lock.run(work)

    async def _run(self, mark_of: Callable[[], LogMark]) -> LogMark:
        left = self._unflushed.snapshot
        if left is not None and left.mark is None:  # of a replay that could not flush: the mark is behind all of it
            await self._flush(left)
            left = None
        snapshot = left
        if snapshot is None:
            mark = mark_of()
            await self.on_marked()
            snapshot = self._unflushed.take_snapshot(mark)
        assert snapshot.mark is not None
        await self._flush(snapshot)
        self._set_failed(False)
        return snapshot.mark

    async def _flush(self, snapshot: Snapshot) -> None:
        try:
            await self._worker.run(self._flusher.begin, snapshot)
            while self._flusher.left and not self._given_up:
                self._on_slice(await self._worker.run(self._flusher.write_slice))
        except Exception as error:
            log.error("a flush of the ledger storage failed and will be tried again: {error}", error=error)
            if not out_of_descriptors(error):
                self._set_failed(True)
            raise
        if self._flusher.left:
            raise FlushGivenUp
        self._unflushed.all_flushed()

    def _set_failed(self, failed: bool) -> None:
        if failed != self.failed:
            self.failed = failed
            self.on_failed_changed()


async def _nothing() -> None:
    pass

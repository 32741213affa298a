"""Flushes of several storages that are in one journal: its mark moves when all of them are flushed."""

from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import Deferred, DeferredList
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.bookie.storage.ledger_storage import FlushGivenUp, LedgerStorage


class SeveralFlushes:
    """Flushes ``storages``, all together: one that fails does not keep the others from it.

    Until it has succeeded the others are not flushed again, and their write caches fill up, which holds up all adds.
    So behind the mark the journal has no more new entries than two full write caches of each: that of the flush, and
    the one that is filled now.
    """

    def __init__(self, storages: Sequence[LedgerStorage]) -> None:
        self._storages = storages
        self._marks: list[LogMark | None] = [None] * len(storages)
        """Up to where the journal is in each."""

    def run(self, mark_of: Callable[[], LogMark]) -> Deferred[LogMark]:
        """Flush, as :meth:`LedgerStorage.flush`; fires with the mark up to which the journal is in all of them."""
        return Deferred.fromCoroutine(self._run(mark_of))

    async def _run(self, mark_of: Callable[[], LogMark]) -> LogMark:
        unfinished = [storage.flush_unfinished for storage in self._storages]
        turn = [
            at
            for at, mark in enumerate(self._marks)
            if not any(unfinished) or unfinished[at] or mark is None  # that of a replay has no mark
        ]
        await all_done([self._storages[at].flush(mark_of).addCallback(self._flushed, at) for at in turn])
        return min(mark for mark in self._marks if mark is not None)

    def _flushed(self, mark: LogMark, at: int) -> None:
        self._marks[at] = mark


async def all_done(waiting: Sequence[Deferred[None]]) -> None:
    """Wait for all of these, and raise the first error; that a flush was given up only if there is no other."""
    outcomes: list[tuple[bool, Any]] = await DeferredList(waiting, consumeErrors=True)
    failures: list[Failure] = [outcome for succeeded, outcome in outcomes if not succeeded]
    for failure in sorted(failures, key=lambda each: isinstance(each.value, FlushGivenUp)):
        failure.raiseException()

"""bookkeeper_tx.bookie.storage.several.flushes: which mark a flush of several storages comes to."""

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.bookie.storage.ledger_storage import FlushGivenUp
from bookkeeper_tx.bookie.storage.several.flushes import SeveralFlushes
from tests.conftest import failure_of, result_of


class Storage:
    """Begins a flush, and ends it when the test says so."""

    def __init__(self) -> None:
        self.begun: list[LogMark] = []
        self.flush_unfinished = False
        self._left: LogMark | None = None
        self._waiting: Deferred[LogMark]

    def flush(self, mark_of: Callable[[], LogMark]) -> Deferred[LogMark]:
        if not self.flush_unfinished:
            self._left = mark_of()
        assert self._left is not None
        self.begun.append(self._left)
        self.flush_unfinished = True
        self._waiting = Deferred()
        return self._waiting

    def end(self, error: Exception | None = None) -> None:
        if error is not None:
            self._waiting.errback(error)
            return
        self.flush_unfinished = False
        assert self._left is not None
        self._waiting.callback(self._left)


def mark(offset: int) -> LogMark:
    return LogMark(1, offset)


class Bench:
    def __init__(self) -> None:
        self.first, self.second = Storage(), Storage()
        storages: Any = [self.first, self.second]
        self._flushes = SeveralFlushes(storages)
        self.offset = 0

    def flush(self) -> Deferred[LogMark]:
        self.offset += 1
        return self._flushes.run(lambda: mark(self.offset))

    @property
    def begun(self) -> tuple[int, int]:
        return len(self.first.begun), len(self.second.begun)


def test_the_mark_comes_when_all_are_flushed() -> None:
    bench = Bench()
    flushing = bench.flush()
    bench.second.end()
    assert not flushing.called
    bench.first.end()
    assert result_of(flushing) == mark(1)


def test_the_mark_stays_until_one_that_failed_has_succeeded_and_then_the_others_go_on() -> None:
    bench = Bench()
    full = OSError("the disk is full")
    flushing = bench.flush()
    bench.first.end(full)
    bench.second.end()
    assert failure_of(flushing, OSError) is full
    flushing = bench.flush()
    assert bench.begun == (2, 1)  # the journal behind the mark would grow without end
    bench.first.end(full)
    failure_of(flushing, OSError)
    flushing = bench.flush()
    bench.first.end()
    assert (bench.begun, result_of(flushing)) == ((3, 1), mark(1))
    flushing = bench.flush()
    bench.first.end()
    bench.second.end()
    assert (bench.begun, result_of(flushing)) == ((4, 2), mark(4))


def test_after_a_replay_that_could_not_be_flushed_all_are_flushed_before_there_is_a_mark() -> None:
    bench = Bench()
    bench.first.flush(lambda: mark(0))
    flushing = bench.flush()
    bench.first.end()
    bench.second.end()
    assert result_of(flushing) == mark(0)
    assert bench.begun == (2, 1)


def test_an_error_says_more_than_that_a_flush_was_given_up() -> None:
    bench = Bench()
    flushing = bench.flush()
    bench.first.end(FlushGivenUp())
    bench.second.end(OSError("broken"))
    failure_of(flushing, OSError)
    flushing = bench.flush()
    bench.first.end(FlushGivenUp())
    bench.second.end(FlushGivenUp())
    failure_of(flushing, FlushGivenUp)

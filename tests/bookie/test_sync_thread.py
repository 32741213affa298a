from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.bookie.storage.ledger_storage import FlushGivenUp
from bookkeeper_tx.bookie.sync_thread import RETRY_DELAY_S, STOP_LIMIT_S, SyncThread
from tests.bookie.workers import InlineWorker
from tests.conftest import result_of


class Storage:
    """A storage whose flushes end by hand."""

    def __init__(self, log: list[Any]) -> None:
        self.dirty = False
        self.holds_mark = False
        self.on_flush_wanted: Any = None
        self.flushes: list[tuple[Deferred[LogMark], LogMark]] = []
        self.log = log
        self.given_up = False

    def give_up_flush(self) -> None:
        self.given_up = True

    def flush(self, mark_of: Any) -> Deferred[LogMark]:
        flushing: Deferred[LogMark] = Deferred()
        self.flushes.append((flushing, mark_of()))
        self.log.append("flush")
        self.dirty = False
        return flushing

    def finish(self, error: Exception | None = None) -> None:
        flushing, mark = self.flushes.pop(0)
        if error is not None:
            self.dirty = True
            flushing.errback(error)
        else:
            flushing.callback(mark)


class Journal:
    def __init__(self, log: list[Any]) -> None:
        self.mark = LogMark(1, 512)
        self.log = log

    def remove_before(self, mark: LogMark) -> Deferred[list[str]]:
        self.log.append(("removed", mark.offset))
        return succeed([])


class Bench:
    def __init__(self, dirty: bool = False, stop_limit_s: float | None = STOP_LIMIT_S) -> None:
        self.log: list[Any] = []
        self.clock = Clock()
        self.storage = Storage(self.log)
        self.storage.dirty = dirty
        self.journal = Journal(self.log)
        self.mark_error: Exception | None = None
        self.sync: Any = SyncThread(
            self.clock,
            self.storage,  # type: ignore[arg-type]
            self.journal,
            self.write_mark,
            InlineWorker(),
            10.0,
            stop_limit_s,
        )
        self.sync.start()

    def write_mark(self, mark: LogMark) -> None:
        if self.mark_error is not None:
            raise self.mark_error
        self.log.append(("marked", mark.offset))

    def checkpoint(self, offset: int) -> None:
        """Let one checkpoint happen."""
        self.journal.mark = LogMark(1, offset)
        self.storage.dirty = True
        self.clock.advance(10)
        self.storage.finish()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_flush_then_mark_then_removal(bench: Bench) -> None:
    bench.storage.dirty = True
    bench.clock.advance(9.9)
    assert bench.log == []
    bench.clock.advance(0.1)
    bench.journal.mark = LogMark(1, 1024)
    assert bench.log == ["flush"]
    bench.storage.finish()
    assert bench.log == ["flush", ("marked", 512), ("removed", 512)]


def test_a_mark_that_the_storage_holds_stays_after_a_flush(bench: Bench) -> None:
    bench.storage.holds_mark = True
    bench.checkpoint(512)
    assert bench.log == ["flush"]
    bench.storage.holds_mark = False
    bench.checkpoint(1024)
    assert bench.log == ["flush", "flush", ("marked", 1024), ("removed", 1024)]


def test_nothing_happens_while_nothing_changes(bench: Bench) -> None:
    bench.checkpoint(512)
    bench.log.clear()
    bench.clock.pump([10, 10, 10])
    assert bench.log == []
    bench.journal.mark = LogMark(1, 1024)
    bench.clock.advance(10)
    bench.storage.finish()
    assert bench.log == ["flush", ("marked", 1024), ("removed", 1024)]


def test_a_half_full_cache_is_flushed_at_once(bench: Bench) -> None:
    bench.storage.dirty = True
    bench.storage.on_flush_wanted()
    assert bench.log == ["flush"]


def test_wanted_during_a_flush_means_once_more(bench: Bench) -> None:
    bench.storage.dirty = True
    bench.storage.on_flush_wanted()
    bench.storage.dirty = True
    bench.storage.on_flush_wanted()
    assert bench.log == ["flush"]
    bench.storage.finish()
    assert bench.log == ["flush", ("marked", 512), ("removed", 512), "flush"]
    bench.storage.finish()
    assert len(bench.clock.getDelayedCalls()) == 1


def test_a_failed_flush_leaves_the_mark_and_is_tried_again(bench: Bench) -> None:
    bench.storage.dirty = True
    bench.clock.advance(10)
    bench.storage.finish(OSError("no space"))
    assert bench.log == ["flush"]
    bench.clock.advance(RETRY_DELAY_S)
    bench.storage.finish()
    assert bench.log == ["flush", "flush", ("marked", 512), ("removed", 512)]


def test_what_came_while_a_flush_failed_is_not_left_waiting(bench: Bench) -> None:
    bench.storage.dirty = True
    bench.storage.on_flush_wanted()
    bench.storage.on_flush_wanted()
    bench.storage.finish(OSError("no space"))
    bench.clock.advance(RETRY_DELAY_S)
    bench.storage.dirty = True
    bench.storage.finish()
    assert bench.log == ["flush", "flush", ("marked", 512), ("removed", 512), "flush"]


def test_a_mark_that_cannot_be_stored_removes_nothing(bench: Bench) -> None:
    bench.mark_error = OSError("no space")
    bench.checkpoint(512)
    assert bench.log == ["flush"]
    bench.mark_error = None
    bench.clock.advance(RETRY_DELAY_S)
    bench.storage.finish()
    assert bench.log == ["flush", "flush", ("marked", 512), ("removed", 512)]


def test_stop_flushes_once_more_and_no_later(bench: Bench) -> None:
    bench.storage.dirty = True
    stopping = bench.sync.stop()
    assert bench.log == ["flush"]
    bench.storage.finish()
    assert result_of(stopping) is True
    assert bench.log == ["flush", ("marked", 512), ("removed", 512)]
    bench.storage.on_flush_wanted()
    assert not bench.clock.getDelayedCalls()


def test_stop_waits_for_the_flush_under_way(bench: Bench) -> None:
    bench.storage.dirty = True
    bench.clock.advance(10)
    bench.storage.dirty = True
    stopping = bench.sync.stop()
    bench.storage.finish()
    assert bench.log == ["flush", ("marked", 512), ("removed", 512), "flush"]
    assert not stopping.called
    bench.storage.finish()
    assert result_of(stopping) is True
    assert not bench.clock.getDelayedCalls()


def test_stop_tells_whether_all_was_flushed(bench: Bench) -> None:
    bench.storage.dirty = True
    stopping = bench.sync.stop()
    bench.storage.finish(OSError("no space"))
    assert result_of(stopping) is False


@pytest.mark.parametrize("error", [None, OSError("no space")])
def test_stop_flushes_also_what_came_after_a_flush_that_failed(bench: Bench, error: Exception | None) -> None:
    bench.storage.dirty = True
    bench.clock.advance(10)
    bench.storage.finish(OSError("no space"))
    stopping = bench.sync.stop()
    bench.storage.dirty = True
    bench.storage.finish()
    assert bench.log == ["flush", "flush", ("marked", 512), ("removed", 512), "flush"]
    bench.storage.finish(error)
    assert result_of(stopping) is (error is None)
    assert not bench.storage.flushes


def test_a_removal_that_fails_is_no_reason_to_flush_again(bench: Bench) -> None:
    bench.journal.remove_before = lambda mark: fail(OSError("busy"))  # type: ignore[method-assign]
    bench.checkpoint(512)
    assert bench.log == ["flush", ("marked", 512)]
    bench.clock.advance(10)
    assert bench.log == ["flush", ("marked", 512)]


def test_what_the_start_has_found_in_the_journal_is_flushed_at_once() -> None:
    bench = Bench(dirty=True)
    assert bench.log == ["flush"]
    bench.storage.finish()
    assert bench.log == ["flush", ("marked", 512), ("removed", 512)]
    assert len(bench.clock.getDelayedCalls()) == 1


def test_a_stop_gives_a_long_flush_up_and_leaves_the_mark(bench: Bench) -> None:
    bench.storage.dirty = True
    stopping = bench.sync.stop()
    bench.clock.advance(STOP_LIMIT_S - 0.1)
    assert not bench.storage.given_up
    bench.clock.advance(0.1)
    assert bench.storage.given_up
    bench.storage.finish(FlushGivenUp())
    assert result_of(stopping) is False
    assert bench.log == ["flush"]
    assert not bench.clock.getDelayedCalls()


def test_a_stop_without_a_limit_flushes_to_the_end() -> None:
    bench = Bench(stop_limit_s=None)
    bench.storage.dirty = True
    stopping = bench.sync.stop()
    bench.clock.advance(10 * STOP_LIMIT_S)
    assert not bench.storage.given_up
    bench.storage.finish()
    assert result_of(stopping) is True

"""The journal: an entry is in it, on the disk, before a bookie acknowledges it (docs/formats/journal.md).

Group commit: while one group of records is written and synced on the worker's thread, all records appended meanwhile
gather into the next group.  When no group is under way, an append is written at once.

    CREATED --start--> OPENING --file made--> IDLE --append--> WRITING --group synced, none waits--> IDLE
    any of them --stop, once nothing waits--> STOPPED;  any of them --sync failed--> FAILED

While it cannot be written, because its disk is full, it refuses its records, each group when it was tried.

With ``journalSyncData=false`` a group counts as written without its sync; :meth:`Journal.sync` syncs now and then.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from typing import Final

from attrs import frozen
from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.disk import Buffer, Disk
from bookkeeper_tx.bookie.journal import files
from bookkeeper_tx.bookie.journal.last_mark import BEGINNING, LogMark
from bookkeeper_tx.bookie.journal.writer import JournalConfig, JournalWriter, OutOfDescriptors, SyncFailed
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.threads.worker import Threads

GROUP_SIZE_MAX: Final = 8 * 1024 * 1024
"""A group that has reached this many bytes takes no more: longer groups would only add latency."""

Done = Callable[[BaseException | None], None]


def _error(failure: Failure) -> BaseException:
    return failure.value or StorageFailed()


def _may_pass(error: BaseException) -> bool:
    """Tell whether the next write may succeed."""
    return isinstance(error, StorageFailed) and not isinstance(error, SyncFailed)


class State(Enum):
    """The states of a journal."""

    CREATED = "created"
    OPENING = "opening"
    IDLE = "idle"
    WRITING = "writing"
    FAILED = "failed"
    STOPPED = "stopped"


@frozen
class GroupTimes:
    """How long a group of records took; times are in seconds."""

    append_count: int
    size_bytes: int
    """Bytes of the records, their length words included."""
    waited_s: float
    """From its first append to the begin of the write."""
    written_s: float
    """From there until it was on the disk, or could not be written."""
    succeeded: bool


class _Group:
    """Records that are synced together, and the callbacks that wait for them."""

    __slots__ = ("begun_s", "buffers", "dones", "size", "syncs", "waiter_bytes", "written_s")

    def __init__(self, syncs: bool, begun_s: float) -> None:
        self.syncs = syncs
        self.begun_s = begun_s
        """When its first append came."""
        self.written_s = begun_s
        """When its write began."""
        self.buffers: list[Buffer] = []
        self.dones: list[Done] = []
        self.size = 0
        self.waiter_bytes = 0


class Journal:
    """The journal of one directory.  All methods are called on the reactor thread.

    ``threads`` is a worker of one thread without long jobs of others.  ``on_fatal`` is called once, with the error,
    when a sync failed: the bookie must stop, because only a replay can find out what is on the disk.  ``clock`` returns
    seconds since the epoch, ``salt`` random bytes, ``seconds`` what the times of groups are taken with.
    ``check_directory()`` is called before a file is made, or one that is not used is removed; it blocks, and raises
    StorageFailed if the directory is not that of this bookie any more.  ``sync_data``: records count as written when
    they are synced, and not before.
    """

    _log = Logger()

    def __init__(
        self,
        disk: Disk,
        directory: str,
        config: JournalConfig,
        *,
        threads: Threads,
        on_fatal: Callable[[BaseException], None],
        clock: Callable[[], float] = time.time,
        salt: Callable[[int], bytes] = os.urandom,
        check_directory: Callable[[], None] = lambda: None,
        sync_data: bool = True,
        seconds: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.mark: LogMark = BEGINNING
        """All records before it are on the disk.  It is safe as lastMark once the storage has made durable all entries
        that were added to it before the mark was sampled.  BEGINNING until started."""
        self.queued_bytes = 0
        """Bytes of records that wait to be written and synced, and of what waits for them."""
        self.queued_count = 0
        """How many appends they came with."""
        self.answering: AbstractContextManager[None] = nullcontext()
        """Entered while the callbacks of a group are called."""
        self.on_group_done: Callable[[], None] = lambda: None
        """Called when the records of a group, synced or refused, do not wait any more, after all their callbacks."""
        self.on_group_timed: Callable[[GroupTimes], None] | None = None
        """Called after each group that was tried, with how long it took."""
        self.failing = False
        """Whether the last group, or the first file, could not be written: the disk is full, or broken."""
        self.on_failing_changed: Callable[[], None] = lambda: None
        """Called when ``failing`` has changed."""
        self.short_of_space = False
        """Whether no backups are kept: files that are older than the mark."""
        self.state = State.CREATED
        self.unsynced = False
        """Whether records count as written that are not synced."""
        self._sync_data = sync_data
        self._disk = disk
        self._directory = directory
        self._backups_max = config.journal_backups_max
        self._writer = JournalWriter(disk, directory, config, clock, salt, check_directory)
        self._threads = threads
        self._seconds = seconds
        self._on_fatal = on_fatal
        self._waiting: deque[_Group] = deque()
        self._stopped: list[Deferred[None]] = []

    def start(self, replayed: LogMark = BEGINNING) -> Deferred[None]:
        """Make a new journal file; fires when that was tried.  To be called after the replay, which ended at a mark.

        Fails with SyncFailed only: while a file cannot be made, the journal is ``failing``, and makes one when it can.
        Records that were appended before are written then.
        """
        if self.state is not State.CREATED:
            raise RuntimeError(f"the journal is {self.state.value}")
        self.state = State.OPENING
        self.mark = replayed
        return self._threads.run(self._writer.open_next).addCallbacks(self._opened, self._not_opened)

    def append(self, records: Sequence[Buffer], done: Done, waiter_bytes: int = 0) -> None:
        """Write ``records``, buffers that each hold whole ``[length][body]`` records of one ledger.

        ``done(None)`` is called when they are on the disk, or without ``sync_data`` written; ``done(error)`` when they
        were refused (after StorageFailed they may or may not be on the disk).  Calls of ``done`` come in the order of
        the appends.  After a failed sync or a stop, ``done(error)`` is called before this returns.  ``waiter_bytes`` is
        the memory of what waits for it.
        """
        state = self.state
        if state is State.FAILED or state is State.STOPPED or self._stopped:
            done(StorageFailed("the journal takes no more records"))
            return
        waiting = self._waiting
        if not waiting or waiting[-1].size >= GROUP_SIZE_MAX:
            waiting.append(_Group(self._sync_data, self._seconds()))
        group = waiting[-1]
        group.buffers += records
        group.dones.append(done)
        size = sum(map(len, records))
        group.size += size
        group.waiter_bytes += waiter_bytes
        self.queued_bytes += size + waiter_bytes
        self.queued_count += 1
        if state is State.IDLE:
            self._write_next()

    def try_again(self) -> None:
        """Find out whether a ``failing`` journal can be written again, by a group without records."""
        if self.failing and self.state is State.IDLE:
            self.append([], lambda error: None)

    def sync(self) -> None:
        """Have all records that were appended before synced."""
        if self.state in (State.CREATED, State.FAILED, State.STOPPED) or self._stopped:
            return
        if not self._waiting:
            self._waiting.append(_Group(True, self._seconds()))
        self._waiting[-1].syncs = True
        if self.state is State.IDLE:
            self._write_next()

    def stop(self) -> Deferred[None]:
        """Take no more records, write and sync those that wait, close the file; then fires.

        Stopping twice is harmless.
        """
        if self.state is State.STOPPED:
            return succeed(None)
        if not self._sync_data:
            self.sync()
        stopped: Deferred[None] = Deferred()
        self._stopped.append(stopped)
        if len(self._stopped) == 1 and self.state in (State.CREATED, State.IDLE, State.FAILED):
            self._close()
        return stopped

    def remove_before(self, mark: LogMark) -> Deferred[list[str]]:
        """Delete files that are not needed once ``mark`` is durable; fires with their paths."""
        backups_max = 0 if self.short_of_space else self._backups_max
        return self._threads.run(files.remove_before, self._disk, self._directory, mark, backups_max)

    def _opened(self, mark: LogMark) -> None:
        self.mark = mark
        self._write_next()

    def _not_opened(self, failure: Failure) -> Failure | None:
        error = _error(failure)
        if not _may_pass(error):
            self._fail(error)
            return failure
        self._log.error("no records are taken: {error}", error=error)
        self._set_failing(True)
        self._write_next()
        return None

    def _write_next(self) -> None:
        if self._waiting:
            self.state = State.WRITING
            group = self._waiting.popleft()
            group.written_s = self._seconds()
            writing = self._threads.run(self._writer.write_group, group.buffers, group.syncs)
            writing.addCallbacks(self._written, self._not_written, callbackArgs=(group,), errbackArgs=(group,))
            writing.addErrback(self._surprised)
        else:
            self.state = State.IDLE
            if self._stopped:
                self._close()

    def _written(self, mark: LogMark, group: _Group) -> None:
        self.mark = mark
        self.unsynced = not group.syncs
        self._tell_times(group, succeeded=True)
        self._set_failing(False)
        self._write_next()  # before the callbacks, so that the disk does not wait for them
        self._finish(group, None)

    def _not_written(self, failure: Failure, group: _Group) -> None:
        error = _error(failure)
        self._tell_times(group, succeeded=False)
        if _may_pass(error):
            self._log.error("{error}", error=error)
            if not isinstance(error, OutOfDescriptors):
                self._set_failing(True)
            self._write_next()
            self._finish(group, error)
            return
        self._finish(group, error)
        self._fail(error)
        self._on_fatal(error)

    def _tell_times(self, group: _Group, succeeded: bool) -> None:
        if self.on_group_timed is not None:
            waited_s, written_s = group.written_s - group.begun_s, self._seconds() - group.written_s
            self.on_group_timed(GroupTimes(len(group.dones), group.size, waited_s, written_s, succeeded))

    def _surprised(self, failure: Failure) -> None:
        self._log.failure("the journal broke", failure)
        if self.state is not State.FAILED:
            self._fail(_error(failure))
            self._on_fatal(_error(failure))

    def _set_failing(self, failing: bool) -> None:
        if failing != self.failing:
            self.failing = failing
            self.on_failing_changed()

    def _finish(self, group: _Group, error: BaseException | None) -> None:
        self.queued_bytes -= group.size + group.waiter_bytes
        self.queued_count -= len(group.dones)
        with self.answering:
            for done in group.dones:
                try:
                    done(error)
                except Exception:
                    self._log.failure("a callback of the journal failed")
        self.on_group_done()

    def _fail(self, error: BaseException) -> None:
        """Refuse all waiting records; no more are written."""
        self.state = State.FAILED
        self._log.critical("the journal is given up: {error}", error=error)
        while self._waiting:
            self._finish(self._waiting.popleft(), StorageFailed(f"the journal failed: {error}"))
        if self._stopped:
            self._close()

    def _close(self) -> None:
        self._threads.run(self._writer.close).addBoth(self._closed)

    def _closed(self, _: object) -> None:
        self.state = State.STOPPED
        stopped, self._stopped = self._stopped, []
        for each in stopped:
            each.callback(None)

"""A bookie without its network and its metadata: journal, ledger storage, checkpoints and the operations over them."""

import random
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from attrs import frozen
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from bookkeeper_tx.bookie.availability import Availability, Reason
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.disk_check import DiskCheck
from bookkeeper_tx.bookie.disks import BookieDisks
from bookkeeper_tx.bookie.journal.at_start import JournalsAtStart
from bookkeeper_tx.bookie.journal.journal import Journal
from bookkeeper_tx.bookie.journal.journals import AnyJournal, Journals
from bookkeeper_tx.bookie.journal.last_mark import BEGINNING, LogMark, marks_of
from bookkeeper_tx.bookie.journal.periodic_sync import PeriodicSync
from bookkeeper_tx.bookie.journal.records import deleted_record
from bookkeeper_tx.bookie.kept_status import KeptStatus
from bookkeeper_tx.bookie.operations.dispatch import Dispatch, Measured
from bookkeeper_tx.bookie.start_check import check_entries
from bookkeeper_tx.bookie.storage.ledger_ids import LedgerIds
from bookkeeper_tx.bookie.storage.replay_sink import ReplayTooLong, StorageSink
from bookkeeper_tx.bookie.storage.several.opened import storage_of
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage, storages_of
from bookkeeper_tx.bookie.sync_thread import STOP_LIMIT_S, SyncThread
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import LocalError, RefusedToStart, StorageFailed
from bookkeeper_tx.threads.worker import Threads

log = Logger()


class MayNotBeReadOnly(LocalError):
    """The bookie would have to be read-only, which its configuration does not allow."""


@frozen
class Workers:
    """The threads of a bookie."""

    journal: Threads
    """One thread, for the writes that acknowledgements wait for."""
    flush: Threads
    """One thread, for the writes that no client waits for."""
    read: Threads
    """A few threads."""


@frozen
class Parts:
    """The parts of a bookie, for those who look at them."""

    journals: Sequence[Journal]
    storage: AnyStorage
    sync_thread: SyncThread
    dispatch: Dispatch
    availability: Availability
    disks: BookieDisks


class Bookie:
    """The journal and the ledger storage of some directories, and ``dispatch`` to serve them.

    ``journal_directory`` and ``ledger_directory`` are the ``current`` ones.  ``on_fatal(error)`` is called when the
    bookie must end at once, without a proper stop; ``measured`` wraps the serving of requests to measure it;
    ``check_directories()`` blocks, and raises DirectoryLost when they are not ours any more; ``read_only`` says that
    their file system is read-only: then what is there is served, and the journal from memory, until the next start;
    ``more_journals`` are the directories of further journals, each with a worker of one thread; ``more_ledgers`` are
    further ledger directories, and ``indexes`` those of the indexes, if they are others; ``choose`` picks one of
    several directories for a new file; ``clock`` gives the time of day; ``journal_arguments`` go to :class:`Journal`.
    """

    def __init__(
        self,
        disk: Disk,
        journal_directory: str,
        ledger_directory: str,
        config: BookieConfig,
        reactor: IReactorTime,
        workers: Workers,
        on_fatal: Callable[[BaseException], None],
        measured: Measured = lambda name, serve: serve,
        check_directories: Callable[[], None] = lambda: None,
        read_only: bool = False,
        more_journals: Sequence[tuple[str, Threads]] = (),
        more_ledgers: Sequence[str] = (),
        indexes: Sequence[str] = (),
        choose: Callable[[Sequence[str]], str] = random.choice,
        clock: Callable[[], float] = time.time,
        **journal_arguments: Any,
    ) -> None:
        self.availability = Availability(config.read_only, config.read_only_mode_enabled)
        self._config = config
        self._on_fatal = on_fatal
        self._disk = disk
        journals = [(journal_directory, workers.journal), *more_journals]
        self._journal_directories = [directory for directory, _ in journals]
        ledgers = [ledger_directory, *more_ledgers]
        self._at_start = JournalsAtStart(disk, self._journal_directories, ledgers)
        self._worker = workers.flush
        self.disks = BookieDisks(disk, self._journal_directories, ledgers, indexes or ledgers, config)
        self._storage = storage_of(disk, self.disks.homes, config, workers.flush, workers.read, clock, choose)
        self.collections = [each.collection for each in storages_of(self._storage)]
        """The parts of the storages that garbage collectors need, in the order of ``disks.homes``."""
        for collection in self.collections:
            collection.journal_deleted = self._journal_deleted
        arguments = journal_arguments | {"on_fatal": on_fatal, "check_directory": check_directories, "clock": clock}
        self._journals = _journals(disk, journals, config, arguments)
        self._journal: AnyJournal = Journals(self._journals) if more_journals else self._journals[0]
        self._periodic_sync = PeriodicSync(reactor, self._journal, config.page_cache_flush_interval_s)
        stop_limit_s = STOP_LIMIT_S if config.journal_data_written else None
        checkpointed = self._storage, self._journal, self._write_mark
        self._sync_thread = SyncThread(reactor, *checkpointed, workers.flush, config.flush_interval_s, stop_limit_s)
        self.dispatch = Dispatch(
            config, disk, self._storage, self._journal, self.availability, reactor, workers.read, measured
        )
        self._storage.on_drained = self.dispatch.look_again
        self._storage.on_flush_failed_changed = self._failures_changed
        self._journal.on_failing_changed = self._failures_changed
        self._check_directories = check_directories
        self.on_disk_full: Callable[[], None] = lambda: None
        """Called when one more disk of the ledgers or indexes has become full."""
        self.on_unindexed: Callable[[], Awaitable[None]] = _nothing
        """Called after the replay if there was no index before it, though the bookie has flushed; it may refuse."""
        self._unindexed = False
        self.on_passed_over: Callable[[Sequence[int]], Awaitable[None]] = _nothing
        """Called after the replay with the ledgers that were not here, and it is not in the journal that they were
        deleted; it may refuse."""
        self._passed_over = LedgerIds()
        self.on_clean_stop: Callable[[], None] = lambda: None
        """Called at the end of a stop that has lost nothing."""
        self._disk_check = DiskCheck(
            reactor, config.disk_check_interval_s, workers.read, self._look, self._looked, self._journal, on_fatal
        )
        self._kept_status = KeptStatus(
            disk, ledgers, self.availability, workers.read, clock, config.status_kept and not read_only
        )
        self._read_only = read_only
        self._marked: LogMark | None = None
        """The mark that the start has found, made durable."""
        self._started = False

    @property
    def parts(self) -> Parts:
        """What metrics are made of."""
        return Parts(self._journals, self._storage, self._sync_thread, self.dispatch, self.availability, self.disks)

    def answer_within(self, turn: AbstractContextManager[None]) -> None:
        """Enter ``turn`` whenever adds are answered, all those that became durable together."""
        self._journal.answering = turn

    async def start(self) -> None:
        """Replay the journal, and get ready to serve.  Raises RefusedToStart, StorageFailed, OSError."""
        # Off the reactor thread: a long replay must not keep the reactor from its signals and its metadata session.
        replayed = await self._worker.run(self._replay)
        if self._unindexed:
            # Before anything is flushed, and the mark moved: the replay has left out what it had no index for.
            await self.on_unindexed()
            if self._config.local_consistency_check:
                await self._worker.run(self._check_entries)
        if passed_over := list(self._passed_over.ascending()):
            await self.on_passed_over(passed_over)
        if self._read_only:
            # Also when it can be written again: the replay has left undone what has to come before.
            await self._journal.stop()
            self.availability.note(Reason.READ_ONLY_DISK, True)
            log.error("the file system is read-only: nothing is written until a start on one that can be written")
        else:
            await self._journal.start(replayed)
            self._sync_thread.start(self._marked)
            if not self._config.journal_data_synced:
                self._periodic_sync.start()
        if self._config.status_kept:
            await self._kept_status.restore()
        await self._disk_check.start()
        self._started = True
        self._check_mode(RefusedToStart)
        self.availability.reasons_changed = self._reasons_changed
        self._kept_status.keep()

    async def stop(self) -> None:
        """Finish the accepted requests, make all entries durable, close the files.  Later requests are not served.

        Raises StorageFailed, at the end, if entries are lost because they could not be flushed, and are not journaled.
        """
        self.availability.reasons_changed = lambda: None
        if self._started:
            self._disk_check.stop()
            self._periodic_sync.stop()
            await self._journal.stop()
            if not self._read_only:
                await self._sync_thread.stop()
        # A replay that is under way ends before the files it uses are closed.
        await self._worker.run(bool)
        await self._storage.stop()
        if self._started and self._storage.dirty and not (self._read_only or self._config.journal_data_written):
            raise StorageFailed("entries that were not flushed are lost: journalWriteData is false")
        self.on_clean_stop()

    def _replay(self) -> LogMark:
        """Bring the journal's entries into the storage; they are in the journal, durably, until the first flush.

        Returns the end of what was replayed.
        """
        self._storage.start()
        has_indexes = any(next(each.ledger_ids(), None) is not None for each in self.collections)
        mark = self._at_start.read_mark()
        is_first = set(marks_of(mark)) == {BEGINNING}  # then the journal has all that was acknowledged
        self._unindexed = not (has_indexes or is_first)
        # An index that this replay makes would be one for the next start, whatever comes of this one.
        unindexed = "nothing is flushed before it is known that no index is lost" if self._unindexed else ""
        sink = StorageSink(self._storage, "the file system is read-only" if self._read_only else unindexed)
        if not is_first and not self._read_only:
            self._confirm(mark)
        try:
            replayed = self._at_start.replay(mark, sink, self._read_only)
        except ReplayTooLong as error:
            way_out = self._at_start.way_out(mark, self._read_only, self._unindexed)
            raise RefusedToStart(f"{error}. {way_out}") from error
        sink.finish()
        self._passed_over = sink.passed_over
        if self._config.local_consistency_check and not self._unindexed:
            self._check_entries()
        if replayed.entry_count:
            log.info("replayed {count} entries from the journal", count=replayed.entry_count)
        return replayed.mark

    def _check_entries(self) -> None:
        """Look whether the entries are where the indexes say; this flushes."""
        for storage, home in zip(storages_of(self._storage), self.disks.homes, strict=True):
            check_entries(self._disk, list(home.ledgers.spaces), storage, not self._read_only)

    def _confirm(self, mark: LogMark) -> None:
        """Make the mark durable, which a killed process may have left in the page cache.

        Then the journal files before it can go at any time: now, if replay may need their space.
        """
        try:
            self._write_mark(mark)
            self._marked = mark
            self._look()
            for path in self._at_start.give_up_old(mark, self.disks.journals_short):
                log.warn("space is short: gave up the old journal file {path}", path=path)
        except OSError as error:
            log.error("old journal files stay: {error}", error=error)

    def _look(self) -> None:
        """Look whether the directories are ours, and how full their disks are: also the others, if one is broken."""
        try:
            self._check_directories()
        except OSError:
            self.disks.look()
            raise
        self.disks.look()

    def _journal_deleted(self, ledger_ids: Sequence[int]) -> Deferred[bool]:
        """Journal that ledgers are deleted; fires with whether that is durable.

        If it is not a crash may bring them back, and the next garbage collection deletes them again: they must not stay
        on a disk because it is full.
        """
        journaled: Deferred[bool] = Deferred()

        def done(error: BaseException | None) -> None:
            if error is not None:
                log.warn("it is not in the journal that ledgers are deleted: {error}", error=error)
            journaled.callback(error is None)

        self._journal.append([deleted_record(ledger_id) for ledger_id in ledger_ids], done)
        return journaled

    def _looked(self) -> None:
        disks = self.disks
        if disks.take_filled():
            self.on_disk_full()
        self.availability.note(Reason.DISK_FULL, disks.read_only)
        self.availability.note(Reason.RESERVE_USED, disks.reserve_used)
        was_short, self._journal.short_of_space = self._journal.short_of_space, disks.journals_short
        if disks.journals_short and not was_short and not self._read_only:
            log.warn("the journal's disk is nearly full: no old journal files are kept")
            self._sync_thread.remove_journals()
        if self._started:
            self._kept_status.keep()  # what could not be written before
        self.dispatch.look_again()

    def _reasons_changed(self) -> None:
        self._kept_status.keep()
        try:
            self._check_mode(MayNotBeReadOnly)
        except MayNotBeReadOnly as error:
            self._on_fatal(error)

    def _check_mode(self, refusal: type[LocalError]) -> None:
        """Raise ``refusal`` if the bookie is read-only, and may not be."""
        if self.availability.read_only and not self._config.read_only_mode_enabled:
            why = "; ".join(sorted(reason.value for reason in self.availability.reasons))
            raise refusal(f"the bookie would be read-only, but readOnlyModeEnabled is false: {why}")

    def _write_mark(self, mark: LogMark) -> None:
        self._check_directories()  # what was flushed may be elsewhere, and the journal must stay then
        self._at_start.write_mark(mark)

    def _failures_changed(self) -> None:
        """Make the bookie read-only while a disk is full or broken; clients go on reading."""
        self.availability.note(Reason.FLUSH_FAILED, self._storage.flush_failed)
        self.availability.note(Reason.JOURNAL_FAILED, self._journal.failing)
        self.dispatch.look_again()


async def _nothing(*_: object) -> None:
    pass


def _journals(
    disk: Disk, journals: Sequence[tuple[str, Threads]], config: BookieConfig, arguments: dict[str, Any]
) -> list[Journal]:
    """Make the journals in these directories, each with a worker."""
    return [
        Journal(disk, directory, config, threads=threads, sync_data=config.journal_data_synced, **arguments)
        for directory, threads in journals
    ]

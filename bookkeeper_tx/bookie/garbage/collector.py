"""The garbage collector of a bookie (docs/guides/bookie.md, garbage collection).

A collection: garbage ledgers are deleted, then logs in which no ledger is left, then logs are compacted if it is time.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie.cluster import require_cluster
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.disks import HomeDisks
from bookkeeper_tx.bookie.garbage.absent_ledgers import AbsentLedgers
from bookkeeper_tx.bookie.garbage.compaction import Compacted, Compaction
from bookkeeper_tx.bookie.garbage.compaction_schedule import CompactionSchedule
from bookkeeper_tx.bookie.garbage.counted_logs import MEMORY_BYTES_MAX, CountedLogs
from bookkeeper_tx.bookie.garbage.garbage_ledgers import GarbageLedgers
from bookkeeper_tx.bookie.garbage.overreplicated_ledgers import OverReplicatedLedgers
from bookkeeper_tx.bookie.garbage.pace import Pace, Stopped
from bookkeeper_tx.bookie.garbage.status import GarbageStatus
from bookkeeper_tx.bookie.garbage.storage import Collected
from bookkeeper_tx.bookie.storage.entry_log_metadata import EntryLogMetadata
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import MetadataError, StorageFailed
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.threads.worker import Threads

TENTHS: Final = 10

STOP_LIMIT_S: Final = 2.0
"""A metadata store that is away must not use up the time that service managers give to a stop."""

log = Logger()


class GarbageCollector:
    """Collects every ``gc_wait_s`` seconds, and when :meth:`force` is called; one collection at a time.

    ``instance_id`` is that of the cluster; ``worker`` reads entry logs; ``disks`` are those of the storage;
    ``time_s`` gives the time of day.
    """

    def __init__(
        self,
        clock: IReactorTime,
        disk: Disk,
        config: BookieConfig,
        store: MetadataStore,
        storage: Collected,
        worker: Threads,
        disks: HomeDisks,
        bookie_id: BookieId,
        instance_id: str | None,
        time_s: Callable[[], float],
        sharer_count: int = 1,
    ) -> None:
        """``sharer_count`` collectors together take the memory of one."""
        self.status = GarbageStatus()
        self._clock = clock
        self._config = config
        self._storage = storage
        self._disks = disks
        self._time_s = time_s
        rate = config.compaction_rate_bytes if config.compaction_by_bytes else config.compaction_rate_entries
        self._metadata_pace, self._pace = Pace(clock, config.gc_metadata_rate), Pace(clock, rate)
        self._garbage = GarbageLedgers(store, storage, worker, bookie_id, instance_id, self._metadata_pace)
        self._overreplicated = OverReplicatedLedgers(store, storage, worker, bookie_id, self._metadata_pace)
        self._absent = AbsentLedgers(
            store, storage, bookie_id, self._metadata_pace, partial(require_cluster, store, bookie_id, instance_id)
        )
        self._logs = CountedLogs(disk, storage, worker, self._absent, MEMORY_BYTES_MAX // sharer_count)
        self._compaction = partial(Compaction, disk, storage, worker, config, self._pace, Counter())
        self._schedule = CompactionSchedule(config, clock.seconds)
        self._overreplicated_at_s = clock.seconds()
        self._timer: IDelayedCall | None = None
        self._running: Deferred[None] | None = None
        self._next: Deferred[None] | None = None
        self._asked: set[tuple[bool | None, bool | None]] = set()
        """What the next one is asked for: as the arguments of :meth:`force`."""
        self._stopped = False

    # Lifecycle -------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Collect for the first time after ``gc_wait_s``, or now if a ledger disk is full already."""
        if self._disks.full:
            self._begin(None, forced=False)
        else:
            self._wait()

    def stop(self) -> Deferred[None]:
        """Collect no more; fires when a collection under way has ended, after the piece that it is at.

        One that waits for the metadata store is waited for ``STOP_LIMIT_S`` seconds; then it ends by itself, later.
        """
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._metadata_pace.stop()
        self._pace.stop()
        return _after(self._running).addTimeout(STOP_LIMIT_S, self._clock, lambda *_: None)

    def force(self, major: bool | None = None, minor: bool | None = None) -> Deferred[None]:
        """Collect now, or after the collection under way; fires when it has ended, whatever came of it.

        All that is asked for while one is under way is one collection, which makes the greatest compaction of them.
        ``major`` and ``minor`` say which compaction to make, whether it is due or not; None: one that is not disabled
        and not suspended.  A major compaction does what a minor one does, so that is not made then.
        """
        if self._stopped:
            return succeed(None)
        if self._running is None and self._next is None:
            return self._begin(self._schedule.forced(self.status, major, minor), forced=True)
        self._asked.add((major, minor))
        self.status.forced = True
        if self._next is None:
            self._next = _after(self._running).addCallback(lambda _: self._begin_next())
        return _after(self._next)

    def _begin_next(self) -> Deferred[None] | None:
        """Begin the collection that was asked for while another one was under way."""
        asked, self._asked, self._next = self._asked, set(), None
        if self._stopped:
            return None
        wanted = {self._schedule.forced(self.status, major, minor) for major, minor in asked}
        return self._begin(True if True in wanted else False if False in wanted else None, forced=True)

    def suspend(self, major: bool = False, minor: bool = False) -> None:
        """Make no major, or no minor, compactions until they are resumed, or forced."""
        self.status.major_suspended |= major
        self.status.minor_suspended |= minor

    def resume(self, major: bool = False, minor: bool = False) -> None:
        """Make compactions again."""
        self.status.major_suspended &= not major
        self.status.minor_suspended &= not minor

    def disk_filled(self) -> None:
        """Take notice that the ledger disk has become full: what is garbage is deleted now."""
        if self._running is None and not self._stopped:
            self._begin(None, forced=False)

    # A collection ----------------------------------------------------------------------------------------------------

    def _wait(self) -> None:
        self._timer = self._clock.callLater(self._config.gc_wait_s, self._due)

    def _due(self) -> None:
        self._timer = None
        if self._running is None:
            self._begin(None, forced=False)

    def _begin(self, wanted: bool | None, forced: bool) -> Deferred[None]:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        status, begun_s = self.status, self._clock.seconds()
        status.running, status.forced, status.last_begun_s = True, forced, self._time_s()
        ended: Deferred[None] = Deferred()
        self._running = ended
        Deferred.fromCoroutine(self._collect(wanted, forced)).addBoth(self._ended, begun_s, ended)
        return _after(ended)

    def _ended(self, _: object, begun_s: float, ended: Deferred[None]) -> None:
        status = self.status
        status.running = status.forced = False
        status.last_ended_s, status.last_duration_s = self._time_s(), self._clock.seconds() - begun_s
        status.collection_count += 1
        self._running = None
        if not self._stopped:
            self._wait()
        ended.callback(None)

    async def _collect(self, wanted: bool | None, forced: bool) -> None:
        status = self.status
        status.last_error = ""
        try:
            await self._delete_ledgers()
        except (MetadataError, OSError, StorageFailed) as error:
            # Logs of ledgers that were deleted before can go all the same.
            status.last_error = str(error)
            log.error("ledgers that are garbage stay for now: {error}", error=error)
        except Stopped:
            return
        except Exception as error:
            self._failed(error)
        try:
            logs = await self._delete_logs()
            await self._compact(logs, wanted, forced)
        except Stopped:
            return
        except (OSError, StorageFailed) as error:
            status.last_error = str(error)
            log.error("entry logs stay for now: {error}", error=error)
        except Exception as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self.status.last_error = repr(error)
        log.failure("a garbage collection has failed", Failure())  # type: ignore[no-untyped-call]

    async def _delete_ledgers(self) -> None:
        status = self.status
        deleted = await self._garbage.collect()
        status.deleted_ledger_count += deleted
        wait_s, now_s = self._config.gc_overreplicated_wait_s, self._clock.seconds()
        if wait_s > 0 and now_s - self._overreplicated_at_s >= wait_s:
            elsewhere = await self._overreplicated.collect()
            self._overreplicated_at_s = now_s
            status.overreplicated_ledger_count += elsewhere
            status.deleted_ledger_count += elsewhere
            deleted += elsewhere
        if deleted:
            log.info("deleted {count} ledgers that are garbage", count=deleted)

    async def _delete_logs(self) -> list[EntryLogMetadata]:
        """Remove the logs in which no ledger is left; return the metadata of the others, as far as it is known."""
        names = await self._storage.finished_logs()
        self._logs.retain(names)
        self._absent.begin()
        left: list[EntryLogMetadata] = []
        status = self.status
        for name in names:
            if self._stopped:
                raise Stopped
            metadata = await self._logs.get(name)
            if metadata is None:
                continue
            if metadata.remaining_bytes:
                left.append(metadata)
                continue
            try:
                await self._storage.delete_log(name)
            except (OSError, StorageFailed) as error:
                status.failed_log_count += 1
                log.error("entry log {name} could not be removed: {error}", name=name.file_name, error=error)
                continue
            log.info("removed entry log {name}: none of its ledgers is left", name=name.file_name)
            status.deleted_log_count += 1
            status.reclaimed_deletion_bytes += metadata.file_size
        status.ledger_count = self._storage.ledger_count
        status.log_count, status.log_bytes = len(left), sum(each.file_size for each in left)
        status.remaining_bytes = sum(each.remaining_bytes for each in left)
        status.log_usages = tuple(min(int(self._usage(each) * TENTHS), TENTHS - 1) for each in left)
        if self._absent.error is not None:
            status.last_error = status.last_error or str(self._absent.error)
        status.unindexed_logs = tuple(each.file_name for each in sorted(self._logs.unindexed))
        status.unreadable_logs = tuple(each.file_name for each in self._logs.unreadable)
        return left

    # Compaction ------------------------------------------------------------------------------------------------------

    async def _compact(self, logs: Sequence[EntryLogMetadata], wanted: bool | None, forced: bool) -> None:
        """Make the compaction that was ``wanted`` (True: a major one), or is due; none on a disk without room."""
        schedule, status = self._schedule, self.status
        major = wanted if forced else schedule.due(status)
        if major is None:
            return
        if not self._has_room(major, forced):
            log.info("no compaction: the disk has no room for it")
            return
        threshold, time_s_max = schedule.limits(major)
        status.major_running, status.minor_running = major, not major
        try:
            # What has no index here would not be moved.
            indexed = [each for each in logs if each.name not in self._logs.unindexed]
            wanted_logs = [each for each in indexed if self._usage(each) < threshold]
            end_s = self._clock.seconds() + time_s_max if time_s_max else None
            done = await self._compaction(partial(self._may_go_on, end_s)).compact(wanted_logs, self._usage)
        finally:
            status.major_running = status.minor_running = False
        self._note(done)
        status.compaction_found_count, status.compaction_done_count = len(logs), done.log_count
        schedule.done(status, major, self._time_s())

    def _usage(self, log: EntryLogMetadata) -> float:
        return log.usage_of(self._config.entry_log_bytes_max if self._config.use_target_entry_log_size else 0)

    def _may_go_on(self, end_s: float | None) -> bool:
        if self._stopped:
            raise Stopped
        return end_s is None or self._clock.seconds() < end_s

    def _has_room(self, major: bool, forced: bool) -> bool:
        disks = self._disks
        if forced and self._config.force_gc_when_full:
            return bool(disks.ledgers.for_entry_log()) and bool(disks.indexes.for_index_file())
        return disks.ledgers.takes_copies(major)

    def _note(self, done: Compacted) -> None:
        status = self.status
        status.deleted_log_count += done.log_count
        status.reclaimed_compaction_bytes += done.reclaimed_bytes
        status.moved_entry_count += done.moved_count
        status.failed_log_count += done.failed_count
        status.log_count -= done.log_count
        if done.log_count:
            log.info(
                "compacted {logs} entry logs: moved {entries} entries, reclaimed {size} bytes",
                logs=done.log_count,
                entries=done.moved_count,
                size=done.reclaimed_bytes,
            )


def _after(running: Deferred[None] | None) -> Deferred[None]:
    """Return what fires when ``running`` has fired."""
    if running is None or running.called:
        return succeed(None)
    after: Deferred[None] = Deferred()
    running.addCallback(lambda _: after.callback(None))
    return after

"""The life of a whole bookie on a disk that forgets: its replies must still be true after every power failure.

One seed is one history: the bookie starts, replays, serves adds (some with deferred sync, and forces of them), fencing
reads and explicit last add confirmed of a few ledgers while caches are flushed, logs and journals rolled and marks
moved; ledgers are deleted, garbage is collected, logs are compacted; the power fails at some disk operation, and it
starts again.  The seed also draws the order in which the work of threads is done.  ``BookieHistory(seed).run()``
repeats a history.
"""

from collections.abc import Mapping
from random import Random
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.bookie import Bookie, Workers
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.protocol.bookie import v3
from bookkeeper_tx.protocol.bookie.v2 import AddRequests
from protocol_specs.entry.version import explicit_lac_of
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.ledger_id import join
from protocol_specs.wire import status as statuses
from tests.bookie.crashing_disk import DIRECTORY, Crashed, new_disk
from tests.bookie.garbage.bookies import OPEN, Store
from tests.bookie.seams import KEY, OTHER_KEY, Force, Read, ReadLac, WriteLac, entry
from tests.bookie.storage.storages import explicit_lac
from tests.bookie.workers import SteppedWorker
from tests.simulation.bookie_collector import Counts, start_collector
from tests.simulation.bookie_requests import Add, DeferredAdd, Reply, Told

LEDGERS = (1, 2, 3)
MIXED_LEDGERS = (1, join(1, 1), join(-2, 3))
"""Ledgers of other scopes too, in every second history."""
LIVES = 5
"""Crashes of one history."""
STEPS_MAX = 120

CONFIG = BookieConfig(
    metadata_uri="sqlite:///m",
    journal_directory="/data",
    ledger_directory="/data",
    journal_size_bytes_max=4096,
    journal_preallocation_bytes=4096,
    journal_backups_max=0,
    write_cache_bytes_max=12_000,
    read_cache_bytes_max=4000,
    entry_log_bytes_max=6000,
    index_pages_max=0.1,  # type: ignore[arg-type]  # two short ones
    open_index_files_max=2,
    flush_interval_s=1.0,
    gc_wait_s=5.0,
    gc_metadata_rate=10**9,
    minor_compaction_interval_s=0,
    major_compaction_interval_s=0,
    major_compaction_threshold=1.0,
    compaction_rate_entries=10**12,
    compaction_outstanding_max=20,
)

NEXT_LEDGER = 10
"""How far the id of the ledger that comes in the place of a deleted one is from its id."""


class BookieHistory:
    """One seed's sequence of lives of a bookie."""

    deletes_ledgers = True
    settings: Mapping[str, Any] = {}
    """Fields of the configuration that are not those of ``CONFIG``."""
    more_directories: Mapping[str, Any] = {}
    """Further ledger directories, and those of the indexes, as arguments of :class:`Bookie`."""
    failures: tuple[Any, ...] = ()
    """The statuses that are allowed when the disk fails."""

    def __init__(self, seed: int, syncs_lie: bool = False) -> None:
        self.random = Random(seed)
        self.disk = new_disk(seed)
        self.disk.syncs_lie = syncs_lie
        self.ledgers = MIXED_LEDGERS if seed % 2 else LEDGERS
        self.told = {ledger_id: Told(ledger_id) for ledger_id in self.ledgers}
        self.deleted: list[Told] = []
        """Ledgers whose metadata is gone."""
        self.store = Store()
        self.store.ledgers = dict.fromkeys(self.ledgers, OPEN)
        self.counts = Counts()
        self.collected_count = 0
        self.crashes = self.acknowledged_count = self.fence_count = self.forced_count = 0
        self.failed_count = self.failed_forces = 0
        self.clock_s = 1_000_000.0

    def run(self) -> None:
        for _ in range(LIVES):
            self.live()
            self.disk.restart()
            self.crashes += 1
        self.start()
        self.check()

    def live(self) -> None:
        """Start, check, and work until the power fails."""
        self.disk.crash_at = self.random.choice([self.random.randrange(each) for each in (60, 400, 1000)])
        try:
            self.start()
            self.check()
            for _ in range(STEPS_MAX):
                self.step()
        except Crashed:
            pass

    # The bookie ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        for told in self.told.values():
            told.deferred = set()
            told.pending = 0
        self.clock_s += 1
        self.clock = Clock()
        self.workers = [SteppedWorker(), SteppedWorker(), SteppedWorker(), SteppedWorker()]
        *workers, garbage_worker = self.workers
        self.bookie = Bookie(
            self.disk,
            DIRECTORY,
            DIRECTORY,
            evolve(CONFIG, **self.settings),
            self.clock,
            Workers(*workers),  # type: ignore[arg-type]
            self._fatal,
            clock=lambda: self.clock_s,
            salt=self.random.randbytes,
            more_journals=self.more_journals(),
            **self.more_directories,
        )
        starting = Deferred.fromCoroutine(self.bookie.start())
        failures: list[Any] = []
        starting.addErrback(failures.append)
        self.run_workers()
        assert starting.called
        if failures:
            failures[0].raiseException()
        self.collector = start_collector(
            self.bookie, self.disk, CONFIG, self.clock, garbage_worker, self.store, self.counts, self._collected
        )

    def _collected(self, ledger_ids: list[int]) -> None:
        assert not set(ledger_ids) & set(self.told), "a ledger that is there was collected"
        for told in self.deleted:
            if told.ledger_id in ledger_ids:
                told.collected = True
                self.collected_count += 1

    def more_journals(self) -> list[Any]:
        """Return directories and workers of further journals."""
        return []

    def _fatal(self, error: BaseException) -> None:
        assert self.disk.crashed, error

    def run_workers(self) -> None:
        while any(worker.jobs or worker.results for worker in self.workers):
            for worker in self.workers:
                worker.run_all()
                self.alive()

    def alive(self) -> None:
        """Raise Crashed after the power has failed: a worker only passes the error on, which is no crash yet."""
        if self.disk.crashed:
            raise Crashed

    def serve(self, request: Any, operation: type[Any], then: Any) -> None:
        self.bookie.dispatch._operations[operation](request, Reply(then))

    def change(self, told: Told, request: Any, operation: type[Any], then: Any) -> None:
        """Serve a request that changes a ledger."""
        told.pending += 1

        def replied(replies: list[Any]) -> None:
            told.pending -= 1
            then(replies)

        self.serve(request, operation, replied)

    # Work ------------------------------------------------------------------------------------------------------------

    def step(self) -> None:
        told = self.told[self.random.choice(self.ledgers)]
        action = self.random.random()
        if action < 0.04:
            self.delete(told)
        elif action < 0.08:
            self.collect()
        elif action < 0.45:
            self.add(told)
        elif action < 0.49:
            self.fence(told)
        elif action < 0.54:
            self.write_lac(told)
        elif action < 0.57:
            self.force(told)
        elif action < 0.6:
            self.clock.advance(self.random.choice((0.3, 1.1)))
        else:
            worker = self.random.choice(self.workers)
            if worker.jobs and (not worker.results or self.random.random() < 0.5):
                worker.execute()
            elif worker.results:
                worker.deliver()
        self.alive()

    def delete(self, told: Told) -> None:
        """Delete a ledger as clients do that are done with it: its metadata.  Another one comes in its place."""
        if told.pending or not self.deletes_ledgers:
            return
        ledger_id = told.ledger_id
        del self.store.ledgers[ledger_id], self.told[ledger_id]
        self.deleted.append(told)
        self.ledgers = tuple(each + NEXT_LEDGER if each == ledger_id else each for each in self.ledgers)
        self.told[ledger_id + NEXT_LEDGER] = Told(ledger_id + NEXT_LEDGER)
        self.store.ledgers[ledger_id + NEXT_LEDGER] = OPEN

    def collect(self) -> None:
        """Collect garbage: while other things go on, or, which clients do not notice, at once, after a flush."""
        at_once = self.random.random() < 0.5
        if at_once:
            self.clock.advance(1.1)
            self.run_workers()
        self.collector.force(self.random.random() < 0.8)
        if at_once:
            self.run_workers()

    def add(self, told: Told) -> None:
        recovery = self.random.random() < 0.3
        first = told.next_id if self.random.random() < 0.9 else self.random.randrange(told.next_id + 1)
        ids = range(first, first + self.random.choice((1, 3, 10)))
        told.next_id = max(told.next_id, ids.stop)
        for entry_id in ids:
            copies = told.sent.setdefault(entry_id, [])
            copies.append(entry(entry_id, self.random.choice((41, 150, 151)), told.ledger_id))
        run = EntryRun.of_entries(told.ledger_id, first, [told.sent[entry_id][-1] for entry_id in ids])
        refused = told.fence_asked and not recovery
        deferred = not recovery and self.random.random() < 0.3

        def replied(replies: list[Any]) -> None:
            if replies == [statuses.EOK]:
                assert not refused, "an add after the fence was acknowledged"
                if deferred:
                    told.deferred |= set(ids)
                    return
                told.acknowledged |= set(ids)
                self.see(told, ids)
                self.acknowledged_count += len(ids)
            elif not self.disk.crashed:
                self.failed_count += replies[0] in self.failures
                assert replies[0] in self.failures or (
                    replies == [statuses.EFENCED] and told.fence_asked and not recovery
                )

        make = DeferredAdd if deferred else Add
        self.change(told, make(0x02010002 if recovery else 0x02010000, KEY, run), AddRequests, replied)

    def see(self, told: Told, ids: range) -> None:
        """Look which copies of entries that were acknowledged are read, as far as they are in memory."""
        for entry_id in ids:
            run = self.bookie._storage.cached_run(told.ledger_id, entry_id)
            if run is not None:
                seen = run.entry(entry_id)
                assert told.seen.setdefault(entry_id, seen) == seen, f"entry {entry_id} is another copy"

    def force(self, told: Told) -> None:
        before = set(told.deferred)

        def replied(replies: list[Any]) -> None:
            if replies == [statuses.EOK]:
                told.acknowledged |= before
                self.forced_count += len(before)
            else:
                self.failed_forces += 1

        self.serve(Force(told.ledger_id), v3.ForceLedgerRequest, replied)

    def fence(self, told: Told) -> None:
        told.fence_asked = True

        def replied(replies: list[Any]) -> None:
            if replies[0] is not statuses.EIO:
                told.fenced = True
                self.fence_count += 1

        request = Read((LAST_ENTRY,), told.ledger_id, fencing=True, master_key=KEY)
        self.change(told, request, v3.ReadRequests, replied)

    def write_lac(self, told: Told) -> None:
        lac = (told.last_add_confirmed or 0) + self.random.randrange(3)
        body = explicit_lac(told.ledger_id, lac, self.random.choice((4, 20)))

        def replied(replies: list[Any]) -> None:
            if replies == [statuses.EOK]:
                told.last_add_confirmed = max(lac, told.last_add_confirmed or 0)

        self.change(told, WriteLac(body), v3.WriteLacRequest, replied)

    # Check -----------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Ask the bookie that has just started for everything that its replies promised."""
        for told in self.told.values():
            self.check_entries(told)
            self.check_fence(told)
            self.check_lac(told)
        for told in self.deleted:
            if told.collected:
                self.check_collected(told)

    def check_collected(self, told: Told) -> None:
        """A ledger that was collected does not come back, and if it was fenced, its writer cannot begin it anew."""
        assert self.bookie._storage.ledger(told.ledger_id) is None, "a deleted ledger has come back"
        if told.fenced:
            run = EntryRun.of_entries(told.ledger_id, told.next_id, [entry(told.next_id, 41, told.ledger_id)])
            assert self.ask(Add(0x02010000, KEY, run), AddRequests) == [statuses.EFENCED]

    def ask(self, request: Any, operation: type[Any]) -> list[Any]:
        answers: list[Any] = []
        self.serve(request, operation, answers.extend)
        self.run_workers()
        assert answers, "no reply"
        return answers

    def check_entries(self, told: Told) -> None:
        if not told.sent:
            return
        ids = range(told.next_id)
        answers = self.ask(Read(ids, told.ledger_id), v3.ReadRequests)
        for entry_id, answer in zip(ids, answers, strict=False):
            if isinstance(answer, bytes):
                assert answer in told.sent[entry_id], "never sent"
                assert told.seen.setdefault(entry_id, answer) == answer, f"entry {entry_id} is another copy"
            else:
                assert entry_id not in told.acknowledged, f"entry {entry_id} was acknowledged, but is {answer}"
                assert answer in (statuses.ENOENTRY, statuses.ENOLEDGER)

    def check_fence(self, told: Told) -> None:
        """Find out whether the ledger is fenced, without a change: by an add that the bookie must refuse anyway."""
        ledger = self.bookie._storage.ledger(told.ledger_id)
        fenced = ledger is not None and ledger.fenced
        assert fenced or not told.fenced, "a fence that was told is gone"
        assert told.fence_asked or not fenced
        told.fence_asked = fenced
        if ledger is not None:
            run = EntryRun.of_entries(told.ledger_id, told.next_id, [entry(told.next_id, 41, told.ledger_id)])
            assert self.ask(Add(0x02010000, OTHER_KEY, run), AddRequests) == [statuses.EUA]
            if fenced:
                assert self.ask(Add(0x02010000, KEY, run), AddRequests) == [statuses.EFENCED]

    def check_lac(self, told: Told) -> None:
        if told.last_add_confirmed is None:
            return
        ((_, body, _),) = self.ask(ReadLac(told.ledger_id), v3.ReadLacRequest)
        assert body is not None
        assert explicit_lac_of(body)[1] >= told.last_add_confirmed

"""The journal on a disk that forgets: every record acknowledged before a power failure is found after it.

One seed is one history: the bookie runs, crashes at some disk operation, restarts, replays, runs on, several times
over, with failing writes, a full disk, rolled files, marks and removed files in between.  The seed of a failing history
is printed; ``_History(seed).run()`` repeats it.
"""

from functools import partial
from random import Random
from typing import Any

import pytest
from attrs import frozen

from bookkeeper_tx.bookie.disk import SECTOR_SIZE
from bookkeeper_tx.bookie.journal.journal import Journal, State
from bookkeeper_tx.bookie.journal.last_mark import read_last_mark, write_last_mark
from bookkeeper_tx.bookie.journal.records import explicit_lac_record, fence_record, key_record
from bookkeeper_tx.bookie.journal.replay import replay
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import RefusedToStart
from protocol_specs import codecs
from protocol_specs.entry import v1, v2
from protocol_specs.ledger_id import SCOPED_MIN, join, split
from tests.bookie.crashing_disk import DIRECTORY, new_disk
from tests.bookie.workers import SteppedWorker
from tests.simulation.histories import count_failing, run_all

pytestmark = pytest.mark.crash

ENTRY_IDS = codecs.derive("entry ids", v1.ENTRY_IDS)
SCOPED_ENTRY_IDS = codecs.derive("entry ids", v2.ENTRY_IDS)
LEDGERS = (0, 1, 2)
MIXED_LEDGERS = (0, 1, 2, join(1, 2), join(-7, 5))
"""Ledgers of other scopes too, in every second history: their records need files of version 7."""
HISTORIES = 500
LIVES = 6
"""Crashes of one history."""


@frozen
class Config:
    journal_size_bytes_max: int = 16 * SECTOR_SIZE
    journal_preallocation_bytes: int = 8 * SECTOR_SIZE
    journal_backups_max: int = 1


class Found:
    """The records of a replay: the sink of a ledger storage that keeps everything in memory."""

    def __init__(self) -> None:
        self.things: set[Any] = set()
        self.ledgers: set[int] = set()

    def key(self, ledger_id: int, master_key: bytes) -> None:
        self.ledgers.add(ledger_id)
        self.things.add(("key", ledger_id, master_key))

    def fence(self, ledger_id: int) -> None:
        self._add(ledger_id, ("fence", ledger_id))

    def explicit_lac(self, ledger_id: int, body: bytes) -> None:
        self._add(ledger_id, ("lac", ledger_id, body))

    def deleted(self, ledger_id: int) -> None:
        raise AssertionError("nothing was deleted")

    def entries(self, run: EntryRun) -> None:
        for entry_id, entry in enumerate(run, run.first_entry_id):
            self._add(run.ledger_id, (run.ledger_id, entry_id, entry))

    def _add(self, ledger_id: int, thing: Any) -> None:
        if ledger_id in self.ledgers:
            self.things.add(thing)


class _History:
    """One seed's sequence of lives of a bookie's journal."""

    sync_data = True

    def __init__(self, seed: int, syncs_lie: bool = False) -> None:
        self.random = Random(seed)
        self.ledgers = MIXED_LEDGERS if seed % 2 else LEDGERS
        self.disk = new_disk(seed)
        self.disk.syncs_lie = syncs_lie
        self.acknowledged: set[Any] = set()
        self.offered: set[Any] = set()
        self.stored = Found()
        """The ledger storage: durable at once, as far as it was flushed."""
        self.next_entry_id = 0
        self.clock_s = 1_000_000.0
        self.crashes = 0
        self.acknowledged_count = 0

    def run(self) -> None:
        for _ in range(LIVES):
            self.live()
            self.disk.restart()
            self.crashes += 1
        self.check()

    def check(self) -> Found:
        """Replay, and compare with the acknowledged records."""
        found = Found()
        found.things |= self.stored.things
        found.ledgers |= self.stored.ledgers
        replayed = replay(self.disk, DIRECTORY, read_last_mark(self.disk, [DIRECTORY]), found)
        assert not self.acknowledged - found.things, "acknowledged, but lost"
        assert not found.things - self.offered, "found, but never written"
        self.replayed_mark = replayed.mark
        return found

    def live(self) -> None:
        """One life: start as a bookie does, then work until the power fails."""
        self.disk.capacity = None
        self.disk.crash_at = self.random.choice((self.random.randrange(1, 12), self.random.randrange(1, 120)))
        try:
            found = self.check()
            self.stored = found
            write_last_mark(self.disk, [DIRECTORY], self.replayed_mark)
        except Exception:
            if self.disk.crashed:
                return
            raise
        worker = SteppedWorker()
        errors: list[BaseException] = []
        self.clock_s += 1
        journal = Journal(
            self.disk,
            DIRECTORY,
            Config(),
            threads=worker,
            on_fatal=errors.append,
            clock=lambda: self.clock_s,
            salt=self.random.randbytes,
            sync_data=self.sync_data,
        )
        self.begin(journal)
        journal.start(self.replayed_mark).addErrback(errors.append)
        while not self.disk.crashed and not errors and journal.state is not State.FAILED:
            self.act(journal, worker)

    def begin(self, journal: Journal) -> None:
        """Called before a journal starts."""

    def act(self, journal: Journal, worker: SteppedWorker) -> None:
        action = self.random.randrange(100)
        if action < 45:
            self.append(journal)
        elif action < 90:
            if worker.jobs:
                worker.execute()
            if worker.results and self.random.random() < 0.9:
                worker.deliver()
        elif action < 93:
            self.disk.fail_writes(1)
        elif action < 94:
            self.disk.fail_syncs(1)
        elif action < 95:
            self.disk.fail_opens(self.random.randrange(1, 6))
        elif action < 97:
            self.disk.capacity = self.random.choice((None, None, 0, 3000, 9000))
        else:
            self.flush(journal, worker)

    def append(self, journal: Journal) -> None:
        records, things = [], []
        for _ in range(self.random.choice((1, 1, 2, 5))):
            ledger_id = self.random.choice(self.ledgers)
            record, thing = self.record(ledger_id)
            key = bytes([ledger_id & 0xFF]) * 20
            records += [key_record(ledger_id, key), record]
            things += [("key", ledger_id, key), thing]
        self.offered.update(things)

        def done(error: BaseException | None) -> None:
            if error is None:
                self.told(things)
                self.acknowledged_count += 1

        journal.append(records, done)

    def told(self, things: list[Any]) -> None:
        """Called when records are acknowledged."""
        self.acknowledged.update(things)

    def record(self, ledger_id: int) -> tuple[bytes, Any]:
        """Return a record, and the result that its replay must have."""
        kind = self.random.randrange(10)
        if kind == 0:
            return fence_record(ledger_id), ("fence", ledger_id)
        if kind == 1:
            body = self.random.randbytes(self.random.choice((20, 36)))
            return explicit_lac_record(ledger_id, body), ("lac", ledger_id, body)
        self.next_entry_id += 1
        size = self.random.choice((0, 5, 100, 400, 2000))
        if ledger_id >= SCOPED_MIN:
            ids = SCOPED_ENTRY_IDS.pack(0xA1, *split(ledger_id), self.next_entry_id, b"")
        else:
            ids = ENTRY_IDS.pack(ledger_id, self.next_entry_id, b"")
        entry = ids + self.random.randbytes(size)
        run = EntryRun.of_entries(ledger_id, self.next_entry_id, [entry])
        return bytes(run.buffer), (ledger_id, self.next_entry_id, entry)

    def flush(self, journal: Journal, worker: SteppedWorker) -> None:
        """Do as a flush does: sample the mark, make the added entries durable, store the mark, remove old files."""
        mark = journal.mark
        if journal.state is State.OPENING:
            return
        self.stored.things |= self.acknowledged
        self.stored.ledgers |= {thing[1] for thing in self.acknowledged if thing[0] == "key"}
        try:
            write_last_mark(self.disk, [DIRECTORY], mark)
        except Exception:
            return
        journal.remove_before(mark).addErrback(lambda _: None)


class _LazyHistory(_History):
    """Records that are acknowledged before they are synced: those of the last sync must be there after a crash."""

    sync_data = False

    def __init__(self, seed: int, syncs_lie: bool = False) -> None:
        super().__init__(seed, syncs_lie)
        self.unsynced: set[Any] = set()
        self.lost_count = 0

    def begin(self, journal: Journal) -> None:
        self.lost_count += len(self.unsynced)
        self.unsynced, self.before_group = set(), set[Any]()
        self.mark = self.replayed_mark
        journal.on_group_done = partial(self.group_done, journal)

    def told(self, things: list[Any]) -> None:
        self.unsynced.update(things)

    def group_done(self, journal: Journal) -> None:
        if journal.mark != self.mark:  # with a group that is not synced: for the end of the file before its own
            self.mark = journal.mark
            synced = self.before_group if journal.unsynced else self.unsynced
            self.acknowledged |= synced
            self.unsynced = self.unsynced - synced
        self.before_group = set(self.unsynced)

    def act(self, journal: Journal, worker: SteppedWorker) -> None:
        if self.random.random() < 0.05:
            journal.sync()
        super().act(journal, worker)

    def flush(self, journal: Journal, worker: SteppedWorker) -> None:
        if journal.state is not State.OPENING:
            self.acknowledged |= self.unsynced
        super().flush(journal, worker)


def test_what_was_synced_survives_every_crash() -> None:
    histories = run_all(_LazyHistory, HISTORIES)
    assert sum(history.acknowledged_count for history in histories) > 10 * HISTORIES
    assert sum(history.lost_count for history in histories) > HISTORIES


def test_what_was_acknowledged_survives_every_crash() -> None:
    histories = run_all(_History, HISTORIES)
    assert sum(history.crashes for history in histories) >= 1000
    assert sum(history.acknowledged_count for history in histories) > 10 * HISTORIES


@pytest.mark.parametrize("make", [_History, _LazyHistory])
def test_the_model_notices_a_sync_that_does_nothing(make: type[_History]) -> None:
    """The check on the check: without syncs, most histories must lose something."""
    assert count_failing(partial(make, syncs_lie=True), 40, (AssertionError, RefusedToStart)) > 20

"""A whole bookie on a disk that also fails now and then, or is full.

If a group cannot be written, the requests that wait for it are answered with an I/O error.  Adds with deferred sync in
it were acknowledged before, so a later force must not report them as durable.  A failed sync ends the process.
"""

from typing import Any

import pytest

from bookkeeper_tx.protocol.bookie import v3
from protocol_specs.wire import status as statuses
from tests.bookie.crashing_disk import Crashed
from tests.bookie.seams import Read
from tests.sampling import one_in
from tests.simulation.bookie_history import BookieHistory
from tests.simulation.bookie_requests import Told
from tests.simulation.db_history import DbHistory
from tests.simulation.histories import run_all
from tests.simulation.lazy_histories import UnjournaledHistory, UnsyncedHistory
from tests.simulation.several_db_directories import SeveralDbDirectoriesHistory
from tests.simulation.several_directories import SeveralDirectoriesHistory
from tests.simulation.several_journals import SeveralJournalsHistory

pytestmark = pytest.mark.crash

HISTORIES, OTHER_HISTORIES = 120, 40


class _FaultyHistory(BookieHistory):
    failures = (statuses.EIO, statuses.EREADONLY)

    def start(self) -> None:
        self.ended = False
        self.disk.capacity = None
        super().start()

    def _fatal(self, error: BaseException) -> None:
        self.ended = True

    def alive(self) -> None:
        if self.ended:
            raise Crashed
        super().alive()

    def check_collected(self, told: Told) -> None:
        """A ledger may come back if the journal could not be written when it was deleted; then it is garbage again."""
        if self.bookie._storage.ledger(told.ledger_id) is not None:
            told.collected = False
        else:
            super().check_collected(told)

    def step(self) -> None:
        fault = self.random.random()
        if fault < 0.03:
            self.disk.fail_writes(1)
        elif fault < 0.032:
            self.disk.fail_syncs(1)
        elif fault < 0.04:
            self.disk.capacity = self.random.choice((None, None, 3000, 0))
        super().step()


class _FaultySeveralJournals(SeveralJournalsHistory, _FaultyHistory):
    """One journal may refuse what the other takes, of one request too."""


class _FaultyDirectories(_FaultyHistory):
    """A disk may be full or broken while the others are not."""

    def start(self) -> None:
        self.disk.full_directories = self.disk.broken_directories = ()
        super().start()

    def step(self) -> None:
        fault = self.random.random()
        if fault < 0.02:
            self.disk.full_directories = self.random.sample(self.directories, self.random.randrange(2))
        elif fault < 0.03:
            self.disk.broken_directories = self.random.sample(self.directories, self.random.randrange(2))
        super().step()


class _FaultySeveralDirectories(_FaultyDirectories, SeveralDirectoriesHistory, _FaultyHistory):
    """So it is with index files, which may be on any disk."""

    settings = {"disk_check_interval_s": 0.5, "read_only_on_any_disk_full": False}


class _FaultySeveralDb(_FaultyDirectories, SeveralDbDirectoriesHistory, _FaultyHistory):
    """The disk of some ledgers may be full or broken while that of the others is not."""

    settings = {**SeveralDbDirectoriesHistory.settings, "disk_check_interval_s": 0.5}


class _FaultyDb(DbHistory, _FaultyHistory):
    """A database refuses changes, or does not sync them."""


class _UnreadableHistory(_FaultyHistory):
    """Files cannot be read now and then: what is stored is never said not to be there."""

    unread_count = 0

    def start(self) -> None:
        self.wrong: list[str] = []
        self.disk.fail_reads(0)
        super().start()

    def step(self) -> None:
        assert not self.wrong
        if self.random.random() < 0.05:
            self.disk.fail_reads(self.random.choice((1, 3, 30)))
        if self.random.random() < 0.3:
            self.read(self.told[self.random.choice(self.ledgers)])
        super().step()

    def read(self, told: Told) -> None:
        stored = set(told.acknowledged)
        if not stored:
            return
        first = self.random.choice(sorted(stored))
        ids = range(first, first + self.random.choice((1, 5)))

        def replied(replies: list[Any]) -> None:
            for entry_id, reply in zip(ids, replies, strict=False):
                if entry_id in stored and reply is statuses.EIO:
                    self.unread_count += 1
                elif entry_id in stored and told not in self.deleted and reply not in told.sent[entry_id]:
                    self.wrong.append(f"entry {entry_id} was acknowledged, but is {reply}")

        self.serve(Read(ids, told.ledger_id), v3.ReadRequests, replied)


class _UnreadableDb(DbHistory, _UnreadableHistory):
    """So it is when databases cannot be read."""


class _FaultyUnsynced(UnsyncedHistory, _FaultyHistory):
    """A write fails behind groups that are not synced."""


class _FaultyUnjournaled(UnjournaledHistory, _FaultyHistory):
    """A flush fails whose entries are nowhere else."""


@pytest.mark.parametrize(
    "make",
    one_in(
        3,
        [
            _FaultyDb,
            _FaultySeveralDb,
            _FaultySeveralJournals,
            _FaultySeveralDirectories,
            _FaultyUnsynced,
            _FaultyUnjournaled,
        ],
        first=1,
    ),
)
def test_so_it_is_with_other_journals(make: type[_FaultyHistory]) -> None:
    histories = run_all(make, OTHER_HISTORIES)
    assert sum(history.failed_count for history in histories) > 20


@pytest.mark.parametrize("make", [_UnreadableHistory, _UnreadableDb])
def test_what_cannot_be_read_is_not_said_to_be_missing(make: type[_UnreadableHistory]) -> None:
    histories = run_all(make, OTHER_HISTORIES)
    assert sum(history.unread_count for history in histories) > 50


def test_what_clients_were_told_is_true_whatever_the_disk_does() -> None:
    counted = ("acknowledged_count", "forced_count", "fence_count", "failed_count", "failed_forces", "collected_count")
    histories = run_all(_FaultyHistory, HISTORIES)
    counts = {name: sum(getattr(history, name) for history in histories) for name in counted}
    assert min(counts.values()) > 50, counts
    assert sum(history.counts.moved for history in histories) > 1000

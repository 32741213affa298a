"""bookkeeper_tx.bookie.integrity.integrity: when it is checked, and how that ends."""

from typing import Any

import pytest
from attrs import evolve

from bookkeeper_tx.bookie.integrity.integrity import INTERVAL_S, Integrity, forget_lost_journals
from bookkeeper_tx.errors import BookieUnavailable, NoSuchEntry, RefusedToStart, UnknownLedgerState
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.integrity.repaired import SELF, Repaired
from tests.bookie.integrity.test_full_check import COUNT, cluster_of, stored, written
from tests.bookie.test_bookie import CONFIG
from tests.bookie.workers import InlineWorker

RATE = 1000


class Checking(Repaired):
    """Bookie ``b1``, wiped and marked, with a check that begins by itself."""

    def __init__(self, disk: CrashingDisk, rate: int = -1) -> None:
        cluster = cluster_of("b2")
        self.ledger_id = written(cluster, 2, 2, 2)
        self.before = dict(stored(cluster, self.ledger_id))
        super().__init__(cluster, disk)
        self.clients: list[Any] = []
        config, worker = evolve(CONFIG, replication_rate_bytes=rate), InlineWorker()
        store: Any = self.client.metadata
        self.integrity = Integrity(cluster.clock, config, store, SELF, self.storage, worker, worker, self._make_client)

    def _make_client(self, *_: Any) -> Any:
        self.clients.append(self.cluster.client())
        return self.clients[-1]

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds / 0.05)):
            self.cluster.network.run()
            self.cluster.clock.advance(0.05)
        self.cluster.network.run()

    @property
    def first(self) -> Any:
        return self.answers(self.ledger_id, 1)[0]


def test_a_storage_that_needs_no_check_is_not_checked(disk: CrashingDisk) -> None:
    bookie = Checking(disk)
    bookie.wait(bookie.integrity.start())
    assert bookie.clients == []
    bookie.integrity.stop()


def test_what_is_marked_is_copied_and_then_nothing_is_left_to_do(disk: CrashingDisk) -> None:
    bookie = Checking(disk)
    bookie.wait(bookie.integrity.mark("its disk was wiped"))
    assert (bookie.first, bookie.storage.limbo.needs_check()) == (UnknownLedgerState, True)
    bookie.wait(bookie.integrity.start())
    bookie.pass_time(1)
    assert bookie.answers(bookie.ledger_id, COUNT + 1) == [*bookie.before.values(), NoSuchEntry]
    assert not bookie.storage.limbo.needs_check()
    assert not bookie.cluster.clock.getDelayedCalls()


def test_it_is_tried_again_every_three_seconds_until_all_is_here(disk: CrashingDisk) -> None:
    bookie = Checking(disk)
    bookie.wait(bookie.integrity.mark("its disk was wiped"))
    bookie.cluster.bookies["b2"].fails = BookieUnavailable("gone")
    bookie.wait(bookie.integrity.start())
    bookie.pass_time(2 * INTERVAL_S)
    assert bookie.first is UnknownLedgerState
    bookie.cluster.state.away = True
    bookie.pass_time(INTERVAL_S)
    bookie.cluster.state.away = False
    bookie.cluster.bookies["b2"].fails = None
    bookie.pass_time(INTERVAL_S + 1)
    assert bookie.first == bookie.before[0]
    assert not bookie.storage.limbo.needs_check()


def test_a_stop_ends_it_and_the_next_start_goes_on(disk: CrashingDisk) -> None:
    bookie = Checking(disk)
    bookie.wait(bookie.integrity.mark("its disk was wiped"))
    bookie.cluster.bookies["b2"].fails = BookieUnavailable("gone")
    bookie.wait(bookie.integrity.start())
    bookie.pass_time(1)
    bookie.cluster.result(bookie.integrity.stop())
    bookie.cluster.bookies["b2"].fails = None
    bookie.pass_time(2 * INTERVAL_S)
    assert bookie.first is UnknownLedgerState
    assert bookie.storage.limbo.needs_check()
    assert bookie.wait(bookie.check.run())
    assert bookie.first == bookie.before[0]


def test_what_is_copied_is_held_to_a_rate(disk: CrashingDisk) -> None:
    bookie = Checking(disk, rate=RATE)
    bookie.wait(bookie.integrity.mark("its disk was wiped"))
    bookie.wait(bookie.integrity.start())
    size = sum(map(len, bookie.before.values()))
    bookie.pass_time(0.5 * size / RATE)
    assert bookie.storage.limbo.needs_check()
    bookie.pass_time(size / RATE + 1)
    assert not bookie.storage.limbo.needs_check()


def test_nothing_is_marked_on_a_read_only_file_system(disk: CrashingDisk) -> None:
    with pytest.raises(RefusedToStart, match="read-only file system"):
        forget_lost_journals(disk, [DIRECTORY], DIRECTORY, read_only=True)

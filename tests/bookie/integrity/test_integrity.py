"""bookkeeper_tx.bookie.integrity.integrity: when it is checked, and how that ends."""

from typing import Any

import pytest
from attrs import evolve
from twisted.logger import LogEvent

from bookkeeper_tx.bookie.directories import Directories
from bookkeeper_tx.bookie.integrity.back_off import INTERVAL_S, INTERVAL_S_MAX
from bookkeeper_tx.bookie.integrity.integrity import Integrity
from bookkeeper_tx.bookie.integrity.lost_cookies import Stamps
from bookkeeper_tx.config import MIB
from bookkeeper_tx.errors import BookieUnavailable, MetadataUnavailable, NoSuchEntry, RefusedToStart, UnknownLedgerState
from tests.bookie.crashing_disk import DIRECTORY, DISK_SIZE, CrashingDisk
from tests.bookie.integrity.repaired import SELF, Repaired
from tests.bookie.integrity.test_full_check import COUNT, cluster_of, stored, written
from tests.bookie.storage.storages import new_storage
from tests.bookie.test_bookie import CONFIG
from tests.bookie.workers import InlineWorker

RATE = 1000
WIPED = Stamps(b"", (), 0, "its disk was wiped")


class Checking(Repaired):
    """Bookie ``b1``, wiped and marked, with a check that begins by itself."""

    def __init__(self, disk: CrashingDisk, rate: int = -1, journaled: bool = True) -> None:
        cluster = cluster_of("b2")
        self.ledger_id = written(cluster, 2, 2, 2)
        self.before = dict(stored(cluster, self.ledger_id))
        super().__init__(cluster, disk)
        self.clients: list[Any] = []
        self.read_bytes_max = 0
        self._config = evolve(
            CONFIG, ledger_directory="/data", replication_rate_bytes=rate, journal_data_written=journaled
        )
        self.integrity = self.new_integrity()

    def new_integrity(self) -> Integrity:
        store, worker = self.client.metadata, InlineWorker()
        parts: Any = (self._config, self.disk, store, SELF, self.storage, worker, worker, self._make_client)
        return Integrity(self.cluster.clock, *parts)

    def expand(self, first: str, *more: str, indexes: tuple[str, ...] = ()) -> None:
        """Configure other ledger directories, and those of indexes, from the next start on."""
        places: dict[str, Any] = {
            "ledger_directory": first,
            "more_ledger_directories": more,
            "index_directories": indexes,
        }
        self._config = evolve(self._config, **places)

    def mark_all(self, lost: Stamps | None = WIPED) -> None:
        """Do what a start does before it serves."""
        self.integrity = self.new_integrity()
        self.integrity.before_replay(Directories(self.disk, "/data", "/data"), lost)
        self.wait(self.integrity.before_serving())

    def _make_client(self, _: Any, config: Any, read_bytes_max: int) -> Any:
        self.read_bytes_max = read_bytes_max
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
    bookie.mark_all()
    assert (bookie.first, bookie.storage.limbo.needs_check()) == (UnknownLedgerState, True)
    bookie.wait(bookie.integrity.start())
    bookie.pass_time(1)
    assert bookie.answers(bookie.ledger_id, COUNT + 1) == [*bookie.before.values(), NoSuchEntry]
    assert not bookie.storage.limbo.needs_check()
    assert not bookie.cluster.clock.getDelayedCalls()


def test_it_is_tried_again_until_all_is_here(disk: CrashingDisk) -> None:
    bookie = Checking(disk)
    bookie.mark_all()
    bookie.cluster.bookies["b2"].fails = BookieUnavailable("gone")
    bookie.wait(bookie.integrity.start())
    bookie.pass_time(INTERVAL_S - 1)
    assert bookie.first is UnknownLedgerState
    bookie.cluster.state.away = True
    bookie.pass_time(INTERVAL_S)
    bookie.cluster.state.away = False
    bookie.cluster.bookies["b2"].fails = None
    bookie.pass_time(2 * INTERVAL_S)
    assert bookie.first == bookie.before[0]
    assert not bookie.storage.limbo.needs_check()


def passes_in(bookie: Checking, logged: list[LogEvent], seconds: float) -> int:
    """Return how many passes end meanwhile."""
    before = len(logged)
    bookie.pass_time(seconds)
    return len([each for each in logged[before:] if each["log_format"].startswith("checked:")])


def test_what_cannot_be_had_is_asked_for_less_and_less_often_until_a_bookie_registers(
    disk: CrashingDisk, logged: list[LogEvent]
) -> None:
    bookie = Checking(disk)
    bookie.mark_all()
    bookie.cluster.bookies["b2"].fails = BookieUnavailable("gone")
    bookie.wait(bookie.integrity.start())
    assert passes_in(bookie, logged, 3600) < 20
    before = len(logged)
    assert passes_in(bookie, logged, 10 * INTERVAL_S_MAX) in (9, 10)
    assert len(logged) - before < 100
    bookie.cluster.bookies["b2"].fails = None
    bookie.cluster.bookies_changed()
    bookie.pass_time(INTERVAL_S + 1)
    assert bookie.first == bookie.before[0]
    assert not bookie.cluster.clock.getDelayedCalls()


def test_a_pass_that_has_copied_something_is_soon_followed_by_another(
    disk: CrashingDisk, logged: list[LogEvent]
) -> None:
    bookie = Checking(disk)
    bookie.mark_all()
    bookie.cluster.bookies["b2"].fails = BookieUnavailable("gone")
    bookie.wait(bookie.integrity.start())
    bookie.pass_time(3600)
    entries = bookie.cluster.bookies["b2"].ledgers[bookie.ledger_id].entries
    kept = entries.pop(5)
    bookie.cluster.bookies["b2"].fails = None
    while not passes_in(bookie, logged, 1):
        assert bookie.first is UnknownLedgerState
    entries[5] = kept
    bookie.pass_time(INTERVAL_S + 1)
    assert not bookie.storage.limbo.needs_check()


def test_a_stop_ends_it_and_the_next_start_goes_on(disk: CrashingDisk) -> None:
    bookie = Checking(disk)
    bookie.mark_all()
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
    bookie.mark_all()
    bookie.wait(bookie.integrity.start())
    size = sum(map(len, bookie.before.values()))
    bookie.pass_time(0.5 * size / RATE)
    assert bookie.storage.limbo.needs_check()
    bookie.pass_time(size / RATE + 1)
    assert not bookie.storage.limbo.needs_check()


def test_what_is_read_ahead_takes_32_mib(disk: CrashingDisk) -> None:
    bookie = Checking(disk)
    bookie.mark_all()
    bookie.wait(bookie.integrity.start())
    assert bookie.read_bytes_max == 32 * MIB


def test_nothing_is_copied_onto_a_full_disk_until_it_has_room(disk: CrashingDisk, logged: list[LogEvent]) -> None:
    bookie = Checking(disk)
    bookie.mark_all()
    disk.capacity = DISK_SIZE // 50
    bookie.disks.look()
    bookie.wait(bookie.integrity.start())
    bookie.pass_time(2 * INTERVAL_S)
    assert bookie.first is UnknownLedgerState
    disk.capacity = None
    bookie.disks.look()
    bookie.pass_time(1)
    assert bookie.first == bookie.before[0]
    assert not bookie.storage.limbo.needs_check()
    assert len([each for each in logged if "while a disk is full" in each["log_format"]]) == 1


def test_ledgers_that_a_java_bookie_has_marked_and_lost_are_marked_again(disk: CrashingDisk) -> None:
    bookie = Checking(disk)
    bookie.storage.limbo.set_needs_check(True)
    bookie.mark_all(None)
    assert bookie.first is UnknownLedgerState
    ledger = bookie.storage.ledger(bookie.ledger_id)
    assert ledger is not None
    assert ledger.fenced


def test_the_marks_of_ours_are_durable_and_a_ledger_that_has_come_since_is_left_alone(disk: CrashingDisk) -> None:
    bookie = Checking(disk)
    bookie.mark_all()
    other = written(bookie.cluster, 2, 2, 2, closed=False, count=0)
    bookie.mark_all(None)
    assert bookie.storage.ledger(other) is None


def test_a_kill_without_entries_in_the_journal_counts_as_a_loss_until_a_clean_stop(disk: CrashingDisk) -> None:
    for _ in range(2):
        bookie = Checking(disk, journaled=False)
        bookie.mark_all(None)
        bookie.integrity.stopped_cleanly()
        assert not bookie.storage.limbo.needs_check()
    Checking(disk, journaled=False).mark_all(None)
    disk.crash()
    disk.restart()
    killed = Checking(disk, journaled=False)
    killed.mark_all(None)
    assert (killed.first, killed.storage.limbo.needs_check()) == (UnknownLedgerState, True)


@pytest.mark.parametrize("journaled", [True, False])
def test_a_loss_is_noted_until_the_marks_are_on_the_disk_and_without_a_journal_until_a_clean_stop(
    disk: CrashingDisk, journaled: bool
) -> None:
    disk.make_directories("/index/current")
    bookie = Checking(disk, journaled=journaled)
    bookie.expand("/data", indexes=("/index",))
    integrity = bookie.new_integrity()

    def noted() -> list[bool]:
        return [disk.exists(f"{each}/current/ledgersToMark") for each in ("/data", "/index")]

    integrity.before_replay(Directories(disk, "/data", "/data"), WIPED)
    assert noted() == [True, True]
    bookie.wait(integrity.before_serving())
    assert noted() == [not journaled] * 2
    integrity.stopped_cleanly()
    assert noted() == [False, False]


def test_a_stop_before_all_ledgers_are_marked_does_not_forget_the_kill(disk: CrashingDisk) -> None:
    bookie = Checking(disk, journaled=False)
    bookie.mark_all()
    bookie.wait(bookie.integrity.start())
    bookie.pass_time(1)
    assert bookie.first == bookie.before[0]
    disk.crash()
    disk.restart()
    stopped = Checking(disk, journaled=False)
    stopped.cluster.state.away = True
    with pytest.raises(MetadataUnavailable):
        stopped.mark_all(None)
    stopped.integrity.stopped_cleanly()
    again = Checking(disk, journaled=False)
    again.mark_all(None)
    ledger = again.storage.ledger(again.ledger_id)
    assert ledger is not None
    assert (ledger.limbo, ledger.fenced) == (True, True)


def test_a_kill_counts_once_all_is_in_the_journal_again_until_all_ledgers_are_marked(disk: CrashingDisk) -> None:
    Checking(disk, journaled=False).mark_all(None)
    disk.crash()
    disk.restart()
    stopped = Checking(disk)
    stopped.cluster.state.away = True
    with pytest.raises(MetadataUnavailable):
        stopped.mark_all(None)
    stopped.integrity.stopped_cleanly()
    bookie = Checking(disk)
    bookie.mark_all(None)
    assert bookie.first is UnknownLedgerState
    bookie.wait(bookie.integrity.start())
    bookie.pass_time(1)
    bookie.mark_all(None)
    assert bookie.first == bookie.before[0]


def test_marks_of_an_earlier_loss_do_not_count_for_a_later_one(disk: CrashingDisk) -> None:
    bookie = Checking(disk)
    bookie.mark_all()
    late = written(bookie.cluster, 2, 2, 2, closed=False, count=0)
    bookie.cluster.state.away = True
    with pytest.raises(MetadataUnavailable):
        bookie.mark_all()
    bookie.cluster.state.away = False
    bookie.mark_all(None)
    assert bookie.answers(late, 1) == [UnknownLedgerState]


def test_with_entries_in_the_journal_a_kill_loses_nothing(disk: CrashingDisk) -> None:
    for _ in range(2):
        bookie = Checking(disk)
        bookie.mark_all(None)
        disk.crash()
        disk.restart()
    assert not Checking(disk).storage.limbo.needs_check()


def test_without_a_note_nothing_is_marked(disk: CrashingDisk) -> None:
    bookie = Checking(disk)
    bookie.mark_all(None)
    assert bookie.storage.ledger(bookie.ledger_id) is None


@pytest.mark.parametrize("lost", [WIPED, None])
def test_with_lost_cookies_entry_logs_may_be_gone(disk: CrashingDisk, lost: Stamps | None) -> None:
    bookie = Checking(disk)
    bookie.mark_all(lost)
    assert bookie.storage.lost_logs.possible == (lost is not None)


def test_nothing_is_marked_on_a_read_only_file_system(disk: CrashingDisk) -> None:
    bookie, directories = Checking(disk), Directories(disk, "/data", "/data")
    directories.read_only = True
    with pytest.raises(RefusedToStart, match="read-only file system"):
        bookie.integrity.before_replay(directories, WIPED)


@pytest.mark.parametrize("marked", [True, False])
def test_a_read_only_file_system_is_served_while_a_check_is_needed_if_all_is_marked(
    disk: CrashingDisk, marked: bool
) -> None:
    bookie, directories = Checking(disk), Directories(disk, "/data", "/data")
    if marked:
        bookie.mark_all()
    bookie.storage.limbo.set_needs_check(True)
    directories.read_only = True
    checking = bookie.new_integrity()
    checking.before_replay(directories, None)
    if not marked:
        with pytest.raises(RefusedToStart, match="read-only file system"):
            bookie.wait(checking.before_serving())
        return
    bookie.wait(checking.before_serving())
    bookie.wait(checking.start())
    assert (bookie.clients, bookie.first) == ([], UnknownLedgerState)


@pytest.mark.parametrize("killed_at", ["replay", "marking"])
def test_what_was_erased_while_a_disk_was_not_mounted_is_in_limbo_when_all_cookies_are_there_again(
    disk: CrashingDisk, killed_at: str
) -> None:
    bookie = Checking(disk)
    bookie.mark_all()
    bookie.wait(bookie.integrity.start())
    bookie.pass_time(1)
    logs: dict[str, bytes] = {}
    for path in [f"{DIRECTORY}/{name}" for name in disk.list_directory(DIRECTORY) if name.endswith(".log")]:
        logs[path] = disk.read(path)
        disk.remove(path)
    disk.sync_directory(DIRECTORY)
    integrity = bookie.new_integrity()
    integrity.before_replay(Directories(disk, "/data", "/data"), WIPED)
    bookie.storage = new_storage(disk, DIRECTORY, logs_lost=True, data_integrity_checking=True)
    if killed_at == "marking":
        bookie.cluster.state.away = True
        with pytest.raises(MetadataUnavailable):
            bookie.wait(integrity.before_serving())
        bookie.cluster.state.away = False
    disk.crash()
    disk.restart()
    for path, data in logs.items():
        disk.replace(path, data)
    bookie.open()
    assert bookie.storage.limbo.needs_check()
    bookie.mark_all(None)
    assert bookie.first is UnknownLedgerState
    bookie.wait(bookie.integrity.start())
    bookie.pass_time(1)
    assert bookie.first == bookie.before[0]
    bookie.mark_all(None)
    assert not bookie.storage.limbo.needs_check(), "the loss is seen to"


def test_marks_count_when_a_new_directory_comes_first(disk: CrashingDisk) -> None:
    bookie = Checking(disk)
    bookie.mark_all()
    late = written(bookie.cluster, 2, 2, 2, closed=False, count=0)
    disk.make_directories("/new/current")
    bookie.expand("/new", "/data")
    bookie.mark_all(None)
    assert bookie.storage.ledger(late) is None
    bookie.wait(bookie.integrity.start())
    bookie.pass_time(1)
    assert not bookie.storage.limbo.needs_check()
    bookie.storage.limbo.set_needs_check(True)
    bookie.mark_all(None)
    assert bookie.storage.ledger(late) is not None, "those marks are not for a later loss"

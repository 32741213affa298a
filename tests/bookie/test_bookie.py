"""bookkeeper_tx.bookie.bookie: a start on what a killed bookie has left, over real journal and storage."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.bookie import Bookie, MayNotBeReadOnly, Workers
from bookkeeper_tx.bookie.directories import DirectoryLost
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import RefusedToStart, StorageFailed
from bookkeeper_tx.protocol.bookie.requests import OneAdd
from bookkeeper_tx.protocol.bookie.v2 import AddRequests, ReadRequests
from bookkeeper_tx.protocol.bookie.v2_mixed import MixedAddRequests
from protocol_specs.fields import LAST_ENTRY
from protocol_specs.wire.operations import Flag
from tests.bookie.crashing_disk import DIRECTORY, DISK_SIZE, CrashingDisk, new_disk
from tests.bookie.seams import KEY, LEDGER, Client, entry, run_of
from tests.bookie.storage.storages import index_files_only
from tests.bookie.workers import InlineWorker, SteppedWorker
from tests.conftest import result_of

pytestmark = pytest.mark.usefixtures("ledger_storage_class")

OTHER_LEDGER = LEDGER + 1
EIO = (101).to_bytes(4, "big")
EREADONLY = (105).to_bytes(4, "big")
EFENCED = (104).to_bytes(4, "big")
ENOENTRY = (2).to_bytes(4, "big")

LITTLE_MEMORY = {"write_cache_bytes_max": 5000, "frame_size_max": 2000}
"""What the replay of a journal may take a little of, where nothing can be flushed."""

CONFIG = BookieConfig(metadata_uri="", journal_directory=DIRECTORY, ledger_directory=DIRECTORY)


class Started:
    """A bookie that has started; its flushes are moved by hand."""

    def __init__(
        self,
        disk: CrashingDisk,
        on_fatal: Any = pytest.fail,
        check_directories: Any = lambda: None,
        read_only: bool = False,
        more_journals: Any = (),
        on_unindexed: Any = None,
        on_passed_over: Any = None,
        **settings: Any,
    ) -> None:
        self.clock = Clock()
        self.flushing = SteppedWorker()
        workers = Workers(InlineWorker(), self.flushing, InlineWorker())
        parts: Any = (disk, DIRECTORY, DIRECTORY, evolve(CONFIG, **settings), self.clock, workers, on_fatal)
        self.bookie = Bookie(
            *parts, check_directories=check_directories, read_only=read_only, more_journals=more_journals
        )
        self.bookie.on_unindexed = on_unindexed or self.bookie.on_unindexed
        self.bookie.on_passed_over = on_passed_over or self.bookie.on_passed_over
        starting = Deferred.fromCoroutine(self.bookie.start())
        self.flushing.step()
        result_of(starting)

    def ask(self, request: Any) -> bytes:
        client: Any = Client()
        self.bookie.dispatch.serve(request, client)
        return b"".join(bytes(part) for part in client.take())

    def add(self, entry_id: int, size: int = 41, flags: int = 0) -> bytes:
        return self.ask(AddRequests(0x02010000 | flags, KEY, run_of(entry_id, size)))

    def add_among_others(self, entry_id: int, size: int) -> bytes:
        """Add an entry in one request with others: one of another ledger, and the next of its own."""
        ids = [(LEDGER, entry_id, size), (OTHER_LEDGER, 0, 41), (LEDGER, entry_id + 1, size)]
        adds: list[OneAdd] = []
        for ledger_id, each_id, each_size in ids:
            record = bytes(run_of(each_id, each_size, ledger_id=ledger_id).buffer)
            adds.append((ledger_id, each_id, each_id - 1, KEY, record))
        return self.ask(MixedAddRequests(0x02010000, adds, [bytes(16)] * len(adds)))

    def read(self, entry_id: int, flags: int = 0) -> bytes:
        """Return the entry that is read, or the reply's return code."""
        reply = self.ask(ReadRequests(0x02020000 | flags, LEDGER, (entry_id,), KEY if flags else None))
        return reply[28:] or reply[8:12]


@pytest.fixture
def disk() -> CrashingDisk:
    disk = new_disk()
    bookie = Started(disk)
    for entry_id in range(3):
        assert bookie.add(entry_id)[8:12] == bytes(4)
    return disk


def test_what_is_in_the_journal_is_served_before_it_is_flushed(disk: CrashingDisk) -> None:
    """At every kill, or power cut, before the first flush has ended."""
    for start in range(5):
        disk.restart()
        bookie = Started(disk)
        assert [bookie.read(entry_id) for entry_id in range(3 + start)] == [entry(each) for each in range(3 + start)]
        assert not disk.exists(f"{DIRECTORY}/0.log")
        assert bookie.add(3 + start)[8:12] == bytes(4)
    assert bookie.flushing.jobs, "the flush begins with the start"
    bookie.flushing.run_all()
    assert disk.exists(f"{DIRECTORY}/0.log")
    assert [bookie.read(entry_id) for entry_id in range(8)] == [entry(each) for each in range(8)]
    assert bookie.read(LAST_ENTRY) == entry(7)


@index_files_only
def test_a_start_without_indexes_may_be_refused_before_anything_is_written_unless_nothing_was_flushed(
    disk: CrashingDisk,
) -> None:
    async def refuse() -> None:
        raise RefusedToStart("no indexes")

    disk.restart()
    bookie = Started(disk, on_unindexed=refuse)  # all is in the journal
    bookie.clock.advance(30)
    bookie.flushing.run_all()
    disk.restart()
    Started(disk, on_unindexed=refuse)
    index = f"{DIRECTORY}/0/{LEDGER:x}/{LEDGER:x}.idx"
    disk.remove(index)
    disk.sync_directory(f"{DIRECTORY}/0/{LEDGER:x}")
    mark = disk.read(f"{DIRECTORY}/lastMark")
    for _ in range(2):
        disk.restart()
        with pytest.raises(RefusedToStart, match="no indexes"):
            Started(disk, on_unindexed=refuse)
        assert (disk.exists(index), disk.read(f"{DIRECTORY}/lastMark")) == (False, mark)


@index_files_only
def test_a_start_tells_of_ledgers_in_the_journal_whose_indexes_are_not_there_before_the_mark_is_moved(
    disk: CrashingDisk,
) -> None:
    told: list[Sequence[int]] = []

    async def refuse(ledger_ids: Sequence[int]) -> None:
        told.append(ledger_ids)
        raise RefusedToStart("an index is gone")

    bookie = Started(disk, on_passed_over=refuse)
    for ledger_id in (LEDGER, OTHER_LEDGER):
        bookie.ask(AddRequests(0x02010000, KEY, run_of(0, 41, ledger_id=ledger_id)))
    bookie.clock.advance(30)
    bookie.flushing.run_all()
    assert [bookie.add(each)[8:12] for each in range(1, 4)] == [bytes(4)] * 3
    index = f"{DIRECTORY}/0/{LEDGER:x}/{LEDGER:x}.idx"
    disk.rename(index, "/away")
    for _ in range(2):
        disk.kill()
        disk.restart()
        with pytest.raises(RefusedToStart, match="an index is gone"):
            Started(disk, on_passed_over=refuse)
    assert told == [[LEDGER]] * 2
    disk.rename("/away", index)
    disk.kill()
    disk.restart()
    bookie = Started(disk, on_passed_over=refuse)
    assert [bookie.read(each) for each in range(4)] == [entry(each) for each in range(4)]


@index_files_only
def test_a_start_without_indexes_makes_none_however_long_the_journal_is(disk: CrashingDisk) -> None:
    async def refuse() -> None:
        raise RefusedToStart("no indexes")

    Started(disk).flushing.run_all()
    bookie = Started(disk)
    for entry_id in range(10):
        bookie.ask(AddRequests(0x02010000, KEY, run_of(entry_id, 1000, ledger_id=OTHER_LEDGER)))
    index = f"{DIRECTORY}/0/{LEDGER:x}/{LEDGER:x}.idx"
    disk.remove(index)
    disk.sync_directory(f"{DIRECTORY}/0/{LEDGER:x}")
    too_long = r"it has \d+ bytes: give the bookie a write cache"
    for write_cache_bytes_max, why in [(3000, "no indexes"), (1000, too_long)]:
        for _ in range(2):
            disk.restart()
            with pytest.raises(RefusedToStart, match=f"(?i){why}"):
                Started(disk, on_unindexed=refuse, **LITTLE_MEMORY | {"write_cache_bytes_max": write_cache_bytes_max})
            assert not disk.exists(index.replace(f"{LEDGER:x}", f"{OTHER_LEDGER:x}"))
    disk.restart()
    bookie = Started(disk, write_cache_bytes_max=3000)
    bookie.flushing.run_all()
    assert len(bookie.ask(ReadRequests(0x02020000, OTHER_LEDGER, (9,), None))[28:]) == 1000


@pytest.mark.parametrize("is_flushed", [True, False])
@pytest.mark.parametrize("adding", [Started.add, Started.add_among_others])
def test_the_first_of_two_copies_stays_over_a_crash(
    disk: CrashingDisk, adding: Callable[[Started, int, int], bytes], is_flushed: bool
) -> None:
    """The second one comes when the mark is past the first, or while that is in memory and journal."""
    bookie = Started(disk)
    if is_flushed:
        bookie.flushing.run_all()
    assert EIO not in adding(bookie, 2, 50)
    assert bookie.read(2) == entry(2)
    bookie.add(3)
    disk.restart()
    again = Started(disk)
    assert [again.read(entry_id) for entry_id in range(3)] == [entry(each) for each in range(3)]
    assert len(again.read(3)) == (41 if adding is Started.add else 50)
    again.flushing.run_all()
    assert again.read(2) == entry(2)


def test_a_copy_that_the_journal_has_refused_is_durable_when_it_comes_again(disk: CrashingDisk) -> None:
    bookie = Started(disk)
    disk.fail_writes(1)
    assert bookie.add(3)[8:12] == EIO
    bookie.clock.advance(10)
    assert bookie.add(3, 50)[8:12] == bytes(4)
    assert bookie.read(3) == entry(3)
    disk.restart()
    assert Started(disk).read(3) == entry(3)


def test_after_the_first_flush_the_mark_is_past_what_was_replayed(disk: CrashingDisk) -> None:
    bookie = Started(disk)
    bookie.flushing.run_all()
    disk.restart()
    again = Started(disk)
    assert not again.flushing.jobs
    assert [again.read(entry_id) for entry_id in range(3)] == [entry(each) for each in range(3)]


def test_a_bookie_whose_disk_is_full_at_the_start_serves_reads(disk: CrashingDisk) -> None:
    disk.capacity = 1200 * 1024
    bookie = Started(disk)
    disk.capacity = 0
    bookie.flushing.run_all()
    assert bookie.bookie.availability.cannot_write
    assert [bookie.read(entry_id) for entry_id in range(3)] == [entry(each) for each in range(3)]
    assert bookie.add(3)[8:12] != bytes(4)
    disk.capacity = None
    bookie.clock.advance(10)
    bookie.flushing.run_all()
    assert not bookie.bookie.availability.cannot_write
    assert bookie.add(3)[8:12] == bytes(4)


def journals(disk: CrashingDisk) -> int:
    return sum(name.endswith(".txn") for name in disk.list_directory(DIRECTORY))


def left_unflushed(disk: CrashingDisk, count: int, backups: int) -> None:
    """Kill a bookie that has this many entries of 1000 bytes in its journal only, and old journal files."""
    for _ in range(backups + 1):
        disk.restart()
        bookie = Started(disk, journal_backups_max=backups)
        bookie.clock.advance(10)
        bookie.flushing.run_all()
    for entry_id in range(3, 3 + count):
        assert bookie.add(entry_id, 1000)[8:12] == bytes(4)
    disk.restart()


def test_a_replay_that_has_to_flush_on_a_full_disk_gives_up_old_journals(disk: CrashingDisk) -> None:
    left_unflushed(disk, 50, backups=3)
    assert journals(disk) == 4
    disk.capacity, mark = 0, disk.read(f"{DIRECTORY}/lastMark")
    bookie = Started(disk, write_cache_bytes_max=5000)
    assert journals(disk) == 2
    assert [len(bookie.read(entry_id)) for entry_id in (2, 3, 52)] == [41, 1000, 1000]
    bookie.flushing.run_all()
    assert disk.read(f"{DIRECTORY}/lastMark") != mark


def test_old_journals_are_given_up_before_the_first_flush_has_ended(disk: CrashingDisk) -> None:
    left_unflushed(disk, 1, backups=3)
    bookie = Started(disk)
    assert journals(disk) == 5
    disk.capacity = DISK_SIZE // 11
    bookie.clock.advance(10)
    assert journals(disk) == 2
    assert bookie.flushing.jobs


def test_a_replay_that_cannot_flush_goes_on_in_memory(disk: CrashingDisk) -> None:
    left_unflushed(disk, 50, backups=0)
    disk.capacity = 0
    bookie = Started(disk, write_cache_bytes_max=15_000)
    bookie.flushing.run_all()
    assert bookie.bookie.availability.cannot_write
    assert [len(bookie.read(entry_id)) for entry_id in range(3, 53)] == [1000] * 50
    assert bookie.add(53)[8:12] == EREADONLY
    disk.capacity = None
    bookie.clock.advance(10)
    bookie.flushing.run_all()
    assert bookie.add(53)[8:12] == bytes(4)
    bookie.flushing.run_all()
    disk.restart()
    again = Started(disk)
    assert [len(again.read(entry_id)) for entry_id in range(2, 54)] == [41, *[1000] * 50, 41]


def test_a_replay_too_long_for_memory_and_disk_says_what_it_needs(disk: CrashingDisk) -> None:
    left_unflushed(disk, 50, backups=0)
    disk.capacity = 0
    with pytest.raises(RefusedToStart) as refused:
        Started(disk, **LITTLE_MEMORY)
    said = str(refused.value)
    assert "No space left on device" in said
    match = re.search(r"It has (\d+) bytes: free as many .* or give the bookie a write cache of so many", said)
    assert match is not None
    assert re.search(r"Only journal files older than \S+\.txn may be moved away", said)
    bookie = Started(disk, write_cache_bytes_max=int(match[1]))
    assert len(bookie.read(52)) == 1000
    disk.restart()
    disk.capacity = int(match[1])
    bookie = Started(disk, **LITTLE_MEMORY)
    bookie.flushing.run_all()
    assert len(bookie.read(52)) == 1000


@pytest.mark.parametrize("hindrance", ["full", "read-only"])
def test_a_start_that_cannot_flush_takes_requests_larger_than_a_write_cache(disk: CrashingDisk, hindrance: str) -> None:
    left_unflushed(disk, 0, backups=0)
    little = {"write_cache_bytes_max": 5000, "frame_size_max": 21_000, "journal_backups_max": 0}
    bookie = Started(disk, **little)
    bookie.flushing.run_all()
    for entry_id, size in (3, 9000), (4, 20_000):  # the caches are not full before the second one
        assert bookie.add(entry_id, size)[8:12] == bytes(4)
    disk.restart()
    disk.read_only = hindrance == "read-only"
    disk.capacity = 0 if hindrance == "full" else None
    bookie = Started(disk, read_only=disk.read_only, **little)
    assert [len(bookie.read(entry_id)) for entry_id in (3, 4)] == [9000, 20_000]


@index_files_only
def test_a_journal_of_a_ledger_whose_index_is_damaged_refuses_the_start(disk: CrashingDisk) -> None:
    bookie = Started(disk)
    bookie.flushing.run_all()
    bookie.add(3)
    disk.restart()
    index = disk.open(f"{DIRECTORY}/0/7/7.idx", writable=True)
    header = index.read(1024, 0)
    index.write(b"?" * 1024, 0)
    with pytest.raises(StorageFailed, match=r"7\.idx is damaged, it has no valid header: .* `bktx bookie regenerate"):
        Started(disk)
    index.write(header, 0)
    assert [Started(disk).read(entry_id) for entry_id in range(4)] == [entry(each) for each in range(4)]


def test_a_full_ledger_disk_takes_recovery_and_fences_only(disk: CrashingDisk) -> None:
    bookie = Started(disk)
    bookie.flushing.run_all()
    disk.capacity = DISK_SIZE // 25
    bookie.clock.advance(10)
    assert bookie.bookie.availability.read_only
    assert not bookie.bookie.availability.cannot_write
    assert bookie.add(3)[8:12] == EREADONLY
    assert bookie.read(2, Flag.FENCING) == entry(2)
    assert bookie.add(3, flags=Flag.RECOVERY_ADD | Flag.HIGH_PRIORITY)[8:12] == bytes(4)
    disk.capacity = CONFIG.entry_log_bytes_max
    bookie.clock.advance(10)
    assert bookie.bookie.availability.cannot_write
    disk.capacity = None
    bookie.clock.advance(10)
    assert bookie.add(4)[8:12] == EFENCED
    assert bookie.add(4, flags=Flag.RECOVERY_ADD)[8:12] == bytes(4)


def test_a_full_journal_disk_takes_neither_fences_nor_recovery_until_there_is_room(disk: CrashingDisk) -> None:
    left_unflushed(disk, 0, backups=0)
    disk.capacity = 0
    bookie = Started(disk, journal_backups_max=0)
    recovery = Flag.RECOVERY_ADD | Flag.HIGH_PRIORITY
    assert bookie.read(2) == entry(2)
    assert bookie.read(2, Flag.FENCING) == EIO
    assert bookie.add(3, flags=recovery)[8:12] == EREADONLY
    disk.capacity = None
    bookie.clock.advance(10)
    assert bookie.read(2, Flag.FENCING) == entry(2)
    assert bookie.add(3, flags=recovery)[8:12] == bytes(4)


def test_old_journals_are_given_up_when_the_disk_is_nearly_full(disk: CrashingDisk) -> None:
    for _ in range(3):
        disk.restart()
        bookie = Started(disk)
        bookie.flushing.run_all()
    assert journals(disk) == 4
    disk.capacity = DISK_SIZE // 11
    bookie.clock.advance(10)
    bookie.flushing.run_all()
    assert journals(disk) == 1


def test_a_flush_without_room_writes_nothing(disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    bookie = Started(disk)
    monkeypatch.setattr(disk, "free_bytes", lambda path: 100)
    bookie.flushing.run_all()
    assert not disk.exists(f"{DIRECTORY}/0.log")
    assert bookie.bookie.availability.cannot_write


def test_nothing_is_marked_once_the_directory_is_lost(disk: CrashingDisk) -> None:
    lost, errors = list[Exception](), list[BaseException]()

    def check() -> None:
        for error in lost:
            raise error

    bookie = Started(disk, errors.append, check)
    lost.append(DirectoryLost("gone"))
    bookie.flushing.run_all()
    assert not disk.exists(f"{DIRECTORY}/lastMark")
    bookie.clock.advance(10)
    assert errors == lost


def test_no_journal_file_is_made_in_another_directory(disk: CrashingDisk) -> None:
    """A file is due before the disks are looked at the next time."""
    lost = list[Exception]()

    def check() -> None:
        for error in lost:
            raise error

    bookie = Started(disk, check_directories=check, journal_size_bytes_max=1)
    bookie.add(3)
    before = disk.list_directory(DIRECTORY)
    lost.append(DirectoryLost("gone"))
    assert [bookie.add(entry_id)[8:12] for entry_id in (4, 5)] == [EIO, EREADONLY]
    assert disk.list_directory(DIRECTORY) == before
    lost.clear()
    bookie.clock.advance(10)
    assert bookie.add(4)[8:12] == bytes(4)
    assert len(disk.list_directory(DIRECTORY)) > len(before)


def contents(disk: CrashingDisk) -> dict[str, bytes]:
    return {
        name: disk.read(f"{DIRECTORY}/{name}")
        for name in disk.list_directory(DIRECTORY)
        if name.endswith((".txn", ".log")) or name == "lastMark"
    }


def tear_last_group(disk: CrashingDisk) -> None:
    """Leave what a power cut leaves of a group that was being written."""
    path = f"{DIRECTORY}/{max(name for name in disk.list_directory(DIRECTORY) if name.endswith('.txn'))}"
    end = len(disk.read(path).rstrip(bytes(1)))
    file = disk.open(path, writable=True)
    file.write(run_of(9, 700).buffer[:600], -(-end // 512) * 512)
    file.sync()


def test_a_start_on_a_read_only_file_system_serves_reads_and_writes_nothing(disk: CrashingDisk) -> None:
    bookie = Started(disk)
    bookie.flushing.run_all()
    bookie.add(3)
    disk.restart()
    tear_last_group(disk)
    before = contents(disk)
    disk.read_only = True
    bookie = Started(disk, read_only=True)
    assert [bookie.read(entry_id) for entry_id in range(4)] == [entry(each) for each in range(4)]
    assert bookie.bookie.availability.cannot_write
    assert bookie.add(4)[8:12] == EREADONLY
    assert bookie.ask(ReadRequests(0x02020001, LEDGER, (0,), KEY))[8:12] == EIO
    disk.read_only = False
    bookie.clock.advance(10)
    stopping = Deferred.fromCoroutine(bookie.bookie.stop())
    bookie.flushing.run_all()
    result_of(stopping)
    assert contents(disk) == before
    disk.restart()
    bookie = Started(disk)
    assert bookie.add(4)[8:12] == bytes(4)
    disk.restart()
    bookie = Started(disk)
    assert [bookie.read(entry_id) for entry_id in range(5)] == [entry(each) for each in range(5)]


def test_a_read_only_start_answers_fencing_reads_of_ledgers_that_are_fenced(disk: CrashingDisk) -> None:
    assert Started(disk).read(2, Flag.FENCING) == entry(2)
    disk.restart()
    disk.read_only = True
    assert Started(disk, read_only=True).read(2, Flag.FENCING) == entry(2)


def test_a_read_only_start_replays_as_much_as_memory_takes(disk: CrashingDisk) -> None:
    left_unflushed(disk, 50, backups=3)
    disk.read_only = True
    bookie = Started(disk, read_only=True, write_cache_bytes_max=15_000)
    assert len(bookie.read(52)) == 1000
    disk.restart()
    with pytest.raises(RefusedToStart, match=r"the file system is read-only\. It has .* bytes: mount it for writing"):
        Started(disk, read_only=True, **LITTLE_MEMORY)
    assert journals(disk) == 4


def test_an_operator_makes_a_bookie_read_only_over_restarts(disk: CrashingDisk) -> None:
    bookie = Started(disk, status_kept=True)
    bookie.bookie.availability.set_manual(True)
    disk.restart()
    bookie = Started(disk, status_kept=True)
    bookie.clock.advance(10)
    assert bookie.add(3)[8:12] == EREADONLY
    assert Started(disk).add(3)[8:12] == bytes(4)
    bookie.bookie.availability.set_manual(False)
    disk.restart()
    assert Started(disk, status_kept=True).add(4)[8:12] == bytes(4)


def test_a_status_that_could_not_be_written_is_written_later(disk: CrashingDisk) -> None:
    bookie = Started(disk, status_kept=True)
    disk.fail_writes(1)
    bookie.bookie.availability.set_manual(True)
    bookie.clock.advance(10)
    disk.restart()
    assert Started(disk, status_kept=True).bookie.availability.read_only


def test_a_bookie_that_may_not_be_read_only_ends(disk: CrashingDisk) -> None:
    errors = list[BaseException]()
    bookie = Started(disk, errors.append, read_only_mode_enabled=False)
    assert not errors
    disk.capacity = DISK_SIZE // 25
    bookie.clock.advance(10)
    assert [type(error) for error in errors] == [MayNotBeReadOnly]
    with pytest.raises(RefusedToStart, match="readOnlyModeEnabled is false: a ledger disk is full"):
        Started(disk, read_only_mode_enabled=False)


def stop(bookie: Started) -> None:
    stopping = Deferred.fromCoroutine(bookie.bookie.stop())
    bookie.flushing.run_all()
    result_of(stopping)


@pytest.mark.parametrize("setting", ["journal_data_synced", "journal_data_written"])
def test_what_was_acknowledged_earlier_is_no_such_entry_when_the_power_has_failed(setting: str) -> None:
    found = set()
    for seed in range(10):
        disk = new_disk(seed)
        Started(disk).add(0)
        assert Started(disk, **{setting: False}).add(1)[8:12] == bytes(4)
        disk.restart()
        again = Started(disk, **{setting: False})
        assert again.read(0) == entry(0)
        found.add(again.read(1))
    assert ENOENTRY in found
    assert found <= {ENOENTRY, entry(1)}


def test_without_entries_in_the_journal_no_fence_is_lost_when_the_power_fails() -> None:
    for seed in range(10):
        disk = new_disk(seed)
        bookie = Started(disk, journal_data_written=False)
        bookie.add(0)
        assert bookie.read(0, Flag.FENCING) == entry(0)
        disk.restart()
        assert Started(disk, journal_data_written=False).add(1)[8:12] == EFENCED


def test_a_stop_that_cannot_flush_what_is_not_journaled_fails(disk: CrashingDisk) -> None:
    bookie = Started(disk, journal_data_written=False)
    bookie.add(3)
    stop(bookie)
    bookie = Started(disk, journal_data_written=False)
    assert bookie.read(3) == entry(3)
    bookie.add(4)
    disk.capacity = 0
    with pytest.raises(StorageFailed, match="lost: journalWriteData is false"):
        stop(bookie)


def test_a_stop_flushes_what_is_not_journaled_also_after_a_flush_that_failed(disk: CrashingDisk) -> None:
    bookie = Started(disk, journal_data_written=False)
    bookie.add(3)
    bookie.clock.advance(10)
    disk.fail_opens(1)
    bookie.flushing.run_all()
    assert bookie.add(4)[8:12] == bytes(4)
    stop(bookie)
    assert [len(Started(disk).read(entry_id)) for entry_id in (3, 4)] == [41, 41]


def test_an_idle_journal_is_synced_after_the_interval(disk: CrashingDisk) -> None:
    bookie = Started(disk, journal_data_synced=False, page_cache_flush_interval_s=0.25)
    for entry_id in (3, 4, 5):
        assert bookie.add(entry_id)[8:12] == bytes(4)
    bookie.clock.advance(0.25)
    disk.restart()
    assert Started(disk).read(5) == entry(5)


def test_with_several_journals_each_moves_its_mark_and_gives_up_its_files() -> None:
    disk, second = new_disk(), "/second/current"
    disk.make_directories(second)
    for start in range(3):
        bookie = Started(disk, more_journals=[(second, InlineWorker())], journal_backups_max=0)
        assert EIO not in bookie.add_among_others(2 * start, 41)
        assert [bookie.read(entry_id) for entry_id in range(2 * start + 2)] == [entry(n) for n in range(2 * start + 2)]
        bookie.clock.advance(10)
        bookie.flushing.run_all()
        assert {"lastMark.0", "lastMark.1"} <= set(disk.list_directory(DIRECTORY))
        assert [
            len([name for name in disk.list_directory(each) if name.endswith(".txn")]) for each in (DIRECTORY, second)
        ] == [1, 1]
        disk.restart()


# Garbage -------------------------------------------------------------------------------------------------------------


def collected(bookie: Started, *ledger_ids: int) -> list[int]:
    deleting = bookie.bookie.collections[0].delete_ledgers(ledger_ids)
    bookie.flushing.run_all()
    deleted: list[int] = result_of(deleting)
    return deleted


def test_a_replay_brings_no_deleted_ledger_back_though_its_records_are_behind_the_mark() -> None:
    disk = new_disk()
    bookie = Started(disk)
    assert bookie.add(0)[8:12] == bytes(4)
    flushing = bookie.bookie._storage.flush(lambda: bookie.bookie._journal.mark)  # moves no mark
    bookie.flushing.run_all()
    result_of(flushing)
    assert collected(bookie, LEDGER) == [LEDGER]
    disk.crash()
    disk.restart()
    assert Started(disk).read(0) == (1).to_bytes(4, "big")


def test_a_ledger_begun_anew_by_recovery_after_its_deletion_is_replayed() -> None:
    disk = new_disk()
    bookie = Started(disk)
    bookie.add(0)
    bookie.read(0, Flag.FENCING)
    bookie.clock.advance(30)
    bookie.flushing.run_all()
    assert collected(bookie, LEDGER) == [LEDGER]
    assert bookie.add(1)[8:12] == EFENCED
    assert bookie.add(1, flags=Flag.RECOVERY_ADD)[8:12] == bytes(4)
    disk.crash()
    disk.restart()
    again = Started(disk)
    assert again.read(1) == entry(1)
    assert again.read(0) == (2).to_bytes(4, "big")
    assert again.add(2)[8:12] == EFENCED


def test_ledgers_are_deleted_although_the_journal_cannot_be_written() -> None:
    disk = new_disk()
    bookie = Started(disk)
    bookie.add(0)
    bookie.clock.advance(30)
    bookie.flushing.run_all()
    disk.capacity = 0
    assert collected(bookie, LEDGER) == [LEDGER]
    assert bookie.read(0) == (1).to_bytes(4, "big")


def test_somebody_is_told_when_the_ledger_disk_becomes_full() -> None:
    disk = new_disk()
    bookie = Started(disk)
    told: list[None] = []
    bookie.bookie.on_disk_full = lambda: told.append(None)
    for free in (DISK_SIZE, 0, 0, DISK_SIZE, 0):
        disk.capacity = free
        bookie.clock.advance(10)
    assert len(told) == 2

"""bookkeeper_tx.bookie.bookie with several ledger and index directories: a disk is full, or broken, others are not."""

import errno
import os
from collections.abc import Collection
from typing import Any

import pytest
from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.availability import Reason
from bookkeeper_tx.bookie.bookie import Bookie, Workers
from bookkeeper_tx.protocol.bookie.v2 import AddRequests, ReadRequests
from protocol_specs.wire.operations import Flag
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk, new_disk
from tests.bookie.seams import KEY, LEDGER, Client, entry, run_of
from tests.bookie.test_bookie import CONFIG, EFENCED, EREADONLY
from tests.bookie.workers import InlineWorker
from tests.conftest import result_of

FIRST, SECOND, INDEX = "/first/current", "/second/current", "/index/current"
LEDGERS = (FIRST, SECOND)


class Started:
    """A bookie whose journal is elsewhere; it looks at the disks, and flushes, when :meth:`wait` is called."""

    def __init__(
        self, disk: CrashingDisk, indexes: tuple[str, ...] = (), check_directories: Any = None, **settings: Any
    ) -> None:
        for path in (*LEDGERS, *indexes):
            disk.make_directories(path)
        self.disk = disk
        self.clock = Clock()
        settings = {"read_only_on_any_disk_full": False, "entry_log_bytes_max": 2000} | settings
        config = evolve(CONFIG, **settings)
        workers = Workers(InlineWorker(), InlineWorker(), InlineWorker())
        parts: Any = (disk, DIRECTORY, FIRST, config, self.clock, workers, pytest.fail)
        choose = lambda names: names[0]  # noqa: E731
        arguments: Any = {} if check_directories is None else {"check_directories": check_directories}
        self.bookie = Bookie(*parts, more_ledgers=[SECOND], indexes=indexes, choose=choose, **arguments)
        result_of(Deferred.fromCoroutine(self.bookie.start()))

    def wait(self) -> None:
        self.clock.advance(10)

    def ask(self, request: Any) -> bytes:
        client: Any = Client()
        self.bookie.dispatch.serve(request, client)
        return b"".join(bytes(part) for part in client.take())

    def add(self, entry_id: int, ledger_id: int = LEDGER, flags: int = 0) -> bytes:
        """Return the reply's return code."""
        run = run_of(entry_id, 900, ledger_id=ledger_id)
        return self.ask(AddRequests(0x02010000 | flags, KEY, run))[8:12]

    def read(self, entry_id: int, ledger_id: int = LEDGER) -> bytes:
        return self.ask(ReadRequests(0x02020000, ledger_id, (entry_id,), None))[28:]

    def logs(self, directory: str) -> list[str]:
        return [name for name in self.disk.list_directory(directory) if name.endswith(".log")]


OK = bytes(4)


class Silent(CrashingDisk):
    """A disk of which nothing below ``silent`` answers: as a file system that was shut down after an error."""

    silent = "nothing"

    def free_bytes(self, path: str) -> int:
        self._admit(path)
        return super().free_bytes(path)

    def list_directory(self, path: str) -> list[str]:
        self._admit(path)
        return super().list_directory(path)

    def go_silent(self, path: str) -> None:
        self.silent, self.broken_directories = path, {path}

    def _admit(self, path: str) -> None:
        if path.startswith(self.silent):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)


def silent_disk() -> Silent:
    disk = Silent()
    disk.make_directories(DIRECTORY)
    return disk


def test_logs_are_in_both_directories_and_the_mark_too() -> None:
    disk = new_disk()
    bookie = Started(disk)
    for entry_id in range(6):
        assert bookie.add(entry_id) == OK
        bookie.wait()
    assert [bookie.logs(path) for path in LEDGERS] == [["0.log", "2.log", "4.log"], ["1.log", "3.log", "5.log"]]
    assert disk.read(f"{FIRST}/lastMark") == disk.read(f"{SECOND}/lastMark") != b""
    disk.crash()
    disk.restart()
    again = Started(disk)
    assert [again.read(entry_id) for entry_id in range(6)] == [entry(each, 900) for each in range(6)]


def test_a_full_disk_takes_no_log_and_the_bookie_is_read_only_when_all_are_full() -> None:
    disk = new_disk()
    bookie = Started(disk)
    for turn, (full, code) in enumerate([((), OK), ({FIRST}, OK), (LEDGERS, EREADONLY), ({FIRST}, OK), ((), OK)]):
        disk.full_directories = full
        bookie.wait()
        before = bookie.logs(FIRST)
        assert bookie.add(turn) == code
        bookie.wait()
        assert FIRST not in full or bookie.logs(FIRST) == before
        assert bookie.bookie.availability.read_only == (code == EREADONLY)
    assert [len(bookie.read(turn)) for turn in range(5)] == [900, 900, 0, 900, 900]


def test_a_full_index_disk_alone_makes_the_bookie_read_only() -> None:
    disk = new_disk()
    bookie = Started(disk, (INDEX,))
    disk.full_directories = {INDEX}
    bookie.wait()
    assert bookie.add(0) == EREADONLY
    disk.full_directories = ()
    bookie.wait()
    assert bookie.add(0) == OK


@pytest.mark.parametrize("setting", [True, False])
def test_one_full_disk_is_enough_if_the_configuration_says_so(setting: bool) -> None:
    disk = new_disk()
    bookie = Started(disk, read_only_on_any_disk_full=setting)
    disk.full_directories = {SECOND}
    bookie.wait()
    assert bookie.add(0) == (EREADONLY if setting else OK)


def test_with_all_disks_full_recovery_goes_on_where_there_is_room() -> None:
    disk = new_disk()
    bookie = Started(disk, high_priority_free_bytes_min=100)
    disk.capacity = 1 << 20
    bookie.wait()
    assert bookie.add(0) == EREADONLY
    assert bookie.add(0, flags=Flag.HIGH_PRIORITY | Flag.RECOVERY_ADD) == OK


def test_a_broken_disk_costs_one_flush_and_no_entry() -> None:
    disk = new_disk()
    bookie = Started(disk)
    assert bookie.add(0) == OK
    disk.broken_directories = {FIRST}
    bookie.wait()
    assert bookie.bookie.availability.read_only, "the flush has failed"
    bookie.wait()
    bookie.wait()
    assert not bookie.bookie.availability.read_only
    assert bookie.logs(SECOND) != []
    assert bookie.add(1) == OK
    bookie.wait()
    assert disk.read(f"{SECOND}/lastMark") != b""
    disk.broken_directories = ()
    disk.crash()
    disk.restart()
    again = Started(disk)
    assert [again.read(entry_id) for entry_id in range(2)] == [entry(each, 900) for each in range(2)]


@pytest.mark.parametrize("broken", LEDGERS)
def test_a_broken_disk_is_not_tried_again_for_each_new_log_but_when_it_is_well_again(broken: str) -> None:
    disk = new_disk()
    bookie = Started(disk, (INDEX,))
    healthy = SECOND if broken == FIRST else FIRST
    disk.broken_directories = {broken}
    flips: list[bool] = []
    bookie.bookie.availability.reasons_changed = lambda: flips.append(bookie.bookie.availability.read_only)
    for entry_id in range(12):
        assert bookie.add(entry_id) == OK
        for _ in range(3):
            bookie.wait()
    assert flips in ([], [True, False]), "at most one flush has failed"
    assert bookie.logs(broken) == []
    before = len(bookie.logs(healthy))
    disk.broken_directories = ()
    for entry_id in range(12, 16):
        assert bookie.add(entry_id) == OK
        bookie.wait()
    assert len(bookie.logs(broken)) == 2
    assert len(bookie.logs(healthy)) == before + 2


@pytest.mark.parametrize("silent", LEDGERS)
@pytest.mark.parametrize("indexes", [(), (INDEX,)])
def test_a_disk_that_does_not_answer_hides_no_full_one(silent: str, indexes: tuple[str, ...]) -> None:
    disk = silent_disk()
    bookie = Started(disk, indexes)
    disk.go_silent(silent)
    bookie.wait()
    assert bookie.bookie.availability.reasons == set(), "another disk can be written"
    disk.full_directories = {FIRST if silent == SECOND else SECOND}
    bookie.wait()
    assert bookie.bookie.availability.reasons >= {Reason.DISK_FULL}
    disk.full_directories = ()
    disk.go_silent("nothing")
    bookie.wait()
    assert bookie.bookie.availability.reasons == set()


def test_a_journal_disk_that_does_not_answer_hides_no_full_one() -> None:
    disk = silent_disk()
    bookie = Started(disk)
    disk.silent = DIRECTORY
    disk.full_directories = LEDGERS
    bookie.wait()
    assert bookie.bookie.availability.reasons >= {Reason.DISK_FULL}


def test_directories_that_cannot_be_checked_hide_no_full_disk() -> None:
    disk = new_disk()
    bookie = Started(disk, check_directories=lambda: disk.list_directory("/gone"))
    disk.full_directories = LEDGERS
    bookie.wait()
    assert bookie.bookie.availability.reasons >= {Reason.DISK_FULL}


@pytest.mark.parametrize("silent", LEDGERS)
def test_garbage_is_collected_beside_a_disk_that_does_not_answer(silent: str) -> None:
    disk = silent_disk()
    bookie = Started(disk, (INDEX,))
    for entry_id in range(6):
        assert bookie.add(entry_id) == OK
        bookie.wait()
    collection = bookie.bookie.collections[0]
    disk.go_silent(silent)
    assert result_of(collection.delete_ledgers([LEDGER])) == [LEDGER]
    for name in result_of(collection.finished_logs()):
        result_of(collection.delete_log(name))
    disk.silent = "nothing"
    assert [len(bookie.logs(path)) for path in LEDGERS] == ([3, 0] if silent == FIRST else [0, 3])
    disk.go_silent("/")
    with pytest.raises(OSError, match="error"):
        result_of(collection.finished_logs())


@pytest.mark.parametrize("full", [{FIRST}, {SECOND}])
def test_fenced_ledgers_are_deleted_while_a_disk_is_full(full: set[str]) -> None:
    disk = new_disk()
    bookie = Started(disk, (INDEX,))
    assert bookie.add(0) == OK
    bookie.wait()
    storage = bookie.bookie.parts.storage
    ledger = storage.ledger(LEDGER)
    assert ledger is not None
    storage.fence(ledger)
    bookie.wait()
    disk.full_directories = full
    bookie.wait()
    assert result_of(bookie.bookie.collections[0].delete_ledgers([LEDGER])) == [LEDGER]
    disk.full_directories = ()
    disk.crash()
    disk.restart()
    assert Started(disk, (INDEX,)).add(0) == EFENCED


def test_somebody_is_told_when_one_more_disk_becomes_full() -> None:
    disk = new_disk()
    bookie = Started(disk, (INDEX,))
    told: list[Collection[str]] = []
    bookie.bookie.on_disk_full = lambda: told.append(disk.full_directories)
    for full in ({FIRST}, {FIRST}, {FIRST, SECOND}, {SECOND}, {SECOND, INDEX}, (), {SECOND}):
        disk.full_directories = full
        bookie.wait()
    assert told == [{FIRST}, {FIRST, SECOND}, {SECOND, INDEX}, {SECOND}]


def test_logs_are_removed_in_each_directory() -> None:
    disk = new_disk()
    bookie = Started(disk)
    for entry_id in range(6):
        assert bookie.add(entry_id) == OK
        bookie.wait()
    collection = bookie.bookie.collections[0]
    assert result_of(collection.delete_ledgers([LEDGER])) == [LEDGER]
    for name in result_of(collection.finished_logs()):
        result_of(collection.delete_log(name))
    assert [bookie.logs(path) for path in LEDGERS] == [[], []]

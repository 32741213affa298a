import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from bookkeeper_tx.bookie.disk import File
from bookkeeper_tx.bookie.journal import journal as journals_module
from bookkeeper_tx.bookie.journal.journal import Journal, State
from bookkeeper_tx.bookie.journal.last_mark import BEGINNING, LogMark
from bookkeeper_tx.bookie.journal.records import file_start, key_record
from bookkeeper_tx.errors import RefusedToStart, StorageFailed
from protocol_specs.disk import journal as spec
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk, new_disk
from tests.bookie.journal.journals import FIRST_ID, SALT, Config, entry, new_journal, path_of, read_as_java, replayed
from tests.bookie.seams import KEY, SCOPED
from tests.bookie.workers import SteppedWorker

FIRST_GROUP = spec.HEADER_SIZE + spec.ALIGNMENT


@pytest.fixture
def worker() -> SteppedWorker:
    return SteppedWorker()


@pytest.fixture
def journal(disk: CrashingDisk, worker: SteppedWorker) -> Journal:
    """A started journal whose groups are written step by step."""
    journal = new_journal(disk, threads=worker)
    journal.start()
    worker.step()
    return journal


def test_the_first_file_is_named_after_the_clock_and_starts_as_javas_do(disk: CrashingDisk) -> None:
    journal = new_journal(disk)
    assert journal.mark == BEGINNING
    journal.start()
    assert journal.mark == LogMark(FIRST_ID, FIRST_GROUP)
    data = disk.read(path_of())
    assert data[: spec.HEADER_SIZE] == (b"BKLG\0\0\0\6").ljust(spec.HEADER_SIZE, b"\0")
    assert set(data[FIRST_GROUP:]) == {0}


def test_a_group_ends_in_a_seal_at_the_alignment(disk: CrashingDisk) -> None:
    journal = new_journal(disk)
    journal.start()
    done: list[Any] = []
    journal.append([entry(1, 0), entry(1, 1)], done.append)
    assert done == [None]
    assert journal.mark == LogMark(FIRST_ID, FIRST_GROUP + spec.ALIGNMENT)
    data = disk.read(path_of())
    assert data[FIRST_GROUP:].startswith(entry(1, 0) + entry(1, 1) + b"\xff\xff\xff\0")
    assert read_as_java(data) == [(1, 0), (1, 1)]


@pytest.mark.parametrize("size", [*range(400, 500), 5000, 70000])
def test_groups_of_every_size_are_found_again(disk: CrashingDisk, size: int) -> None:
    journal = new_journal(disk, config=Config(journal_size_bytes_max=10**6))
    journal.start()
    for entry_id in range(3):
        journal.append([entry(7, entry_id, size)], lambda _: None)
    expected = [(7, 0), (7, 1), (7, 2)]
    assert read_as_java(disk.read(path_of())) == expected
    found, result = replayed(disk)
    assert (found, result.mark, result.dropped) == (expected, journal.mark, ())


def test_what_is_appended_meanwhile_makes_the_next_group(journal: Journal, worker: SteppedWorker) -> None:
    order: list[str] = []
    for name in "abc":
        journal.append([entry(1, ord(name))], lambda error, name=name: order.append(f"{name}{error}"))
    assert journal.state is State.WRITING
    assert journal.queued_bytes == 3 * len(entry(1, 0))
    worker.execute()
    assert order == []
    worker.deliver()
    assert order == ["aNone"]
    assert len(worker.jobs) == 1
    worker.step()
    assert order == ["aNone", "bNone", "cNone"]
    assert (journal.state, journal.queued_bytes) == (State.IDLE, 0)
    assert journal.mark.offset == FIRST_GROUP + 2 * spec.ALIGNMENT


def test_nothing_is_acknowledged_before_the_sync(journal: Journal, worker: SteppedWorker, disk: CrashingDisk) -> None:
    done: list[Any] = []
    journal.append([entry(1, 0)], done.append)
    disk.crash_at = 1  # the write goes through, the sync does not
    worker.run_all()
    assert isinstance(done[0], Exception)


def test_a_group_has_an_end(journal: Journal, worker: SteppedWorker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals_module, "GROUP_SIZE_MAX", 3 * len(entry(1, 0)))
    done: list[Any] = []
    for entry_id in range(8):
        journal.append([entry(1, entry_id)], done.append)
    finished = []
    while worker.jobs:
        worker.step()
        finished.append(len(done))
    assert finished == [1, 4, 7, 8]
    assert journal.queued_bytes == 0


def test_what_was_appended_before_the_start_is_written(disk: CrashingDisk) -> None:
    journal = new_journal(disk)
    done: list[Any] = []
    journal.append([entry(1, 0)], done.append)
    assert done == []
    journal.start()
    assert done == [None]


def test_an_append_of_nothing_waits_for_its_turn(journal: Journal, worker: SteppedWorker, disk: CrashingDisk) -> None:
    done: list[Any] = []
    journal.append([], done.append)
    worker.run_all()
    assert done == [None]
    assert replayed(disk)[1].mark == journal.mark


def test_a_callback_that_fails_stops_nobody(journal: Journal, worker: SteppedWorker) -> None:
    done: list[Any] = []
    journal.append([entry(1, 0)], lambda _: 1 / 0)
    journal.append([entry(1, 1)], done.append)
    worker.run_all()
    assert done == [None]


def test_all_callbacks_of_a_group_are_called_within_one_turn(journal: Journal, worker: SteppedWorker) -> None:
    order: list[str] = []

    @contextmanager
    def turn() -> Iterator[None]:
        order.append("begin")
        yield
        order.append("end")

    journal.on_group_done = lambda: order.append("done")
    for name in "ab":
        journal.answering = turn()
        journal.append([entry(1, ord(name))], lambda _, name=name: order.append(name))
        journal.append([], lambda _, name=name: order.append(name.upper()))
    worker.step()
    journal.answering = turn()
    worker.step()
    assert order == ["begin", "a", "end", "done", "begin", "A", "b", "B", "end", "done"]


def test_a_full_file_is_followed_by_the_next(disk: CrashingDisk) -> None:
    journal = new_journal(disk, config=Config(journal_size_bytes_max=2 * spec.ALIGNMENT))
    journal.start()
    for entry_id in range(3):
        journal.append([entry(1, entry_id)], lambda _: None)
    assert journal.mark == LogMark(FIRST_ID + 2, FIRST_GROUP + spec.ALIGNMENT)
    assert replayed(disk)[0] == [(1, 0), (1, 1), (1, 2)]


def test_a_restart_begins_a_new_file(disk: CrashingDisk) -> None:
    for number in range(3):
        journal = new_journal(disk)
        journal.start()
        journal.append([entry(1, number)], lambda _: None)
        assert journal.mark.journal_id == FIRST_ID + number
    assert replayed(disk)[0] == [(1, 0), (1, 1), (1, 2)]


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_failed_write_refuses_its_group_only(disk: CrashingDisk, error: int) -> None:
    errors: list[BaseException] = []
    journal = new_journal(disk, errors)
    journal.start()
    before = journal.mark
    done: list[Any] = []
    disk.fail_writes(1, error)
    journal.append([entry(1, 0, 3000)], done.append)
    assert isinstance(done[0], StorageFailed)
    assert journal.mark == before
    journal.append([entry(1, 1)], done.append)
    assert (done[1:], errors, journal.queued_bytes) == ([None], [], 0)
    assert replayed(disk)[0] == [(1, 1)]


def test_a_full_disk_refuses_what_does_not_fit(disk: CrashingDisk) -> None:
    journal = new_journal(disk)
    journal.start()
    disk.capacity = 1000
    done: list[Any] = []
    journal.append([entry(1, 0, 10_000)], done.append)
    journal.append([entry(1, 1)], done.append)
    disk.capacity = None
    journal.append([entry(1, 2, 10_000)], done.append)
    assert isinstance(done[0], StorageFailed)
    assert done[1:] == [None, None]
    assert replayed(disk)[0] == [(1, 1), (1, 2)]


@pytest.mark.parametrize("written", [512, 4096, 8192])
def test_what_a_failed_group_left_is_never_read(
    disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """Neither after a shorter group, nor at the end of a file before another one."""
    config = Config(journal_size_bytes_max=2 * spec.ALIGNMENT, journal_preallocation_bytes=64 * spec.ALIGNMENT)
    journal = new_journal(disk, config=config)
    journal.start()
    disk.fail_writes(1)
    monkeypatch.setattr(disk.random, "randrange", lambda size: min(written, size - 1))
    done: list[Any] = []
    journal.append([entry(1, 0, 460) * 15], done.append)
    for entry_id in (1, 2):
        journal.append([entry(1, entry_id)], done.append)
    assert done[1:] == [None, None]
    assert read_as_java(disk.read(path_of())) == [(1, 1)]
    found, result = replayed(disk)
    assert (found, result.dropped) == ([(1, 1), (1, 2)], ())


def test_a_failed_roll_is_tried_again(disk: CrashingDisk) -> None:
    journal = new_journal(disk, config=Config(journal_size_bytes_max=2 * spec.ALIGNMENT))
    journal.start()
    done: list[Any] = []
    journal.append([entry(1, 0)], done.append)
    disk.fail_writes(1)
    journal.append([entry(1, 1)], done.append)
    assert isinstance(done[1], StorageFailed)
    assert disk.list_directory(DIRECTORY) == [f"{FIRST_ID:x}.txn"]
    journal.append([entry(1, 2)], done.append)
    assert done[2] is None
    assert replayed(disk)[0] == [(1, 0), (1, 2)]


def test_nothing_is_made_or_removed_in_a_directory_that_is_not_ours(disk: CrashingDisk) -> None:
    lost, done = list[Exception](), list[Any]()

    def check() -> None:
        for error in lost:
            raise error

    journal = new_journal(disk, check_directory=check)
    lost.append(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
    journal.start()
    assert disk.list_directory(DIRECTORY) == []
    lost.clear()
    journal.append([entry(1, 0)], done.append)
    assert disk.list_directory(DIRECTORY) == [f"{FIRST_ID:x}.txn"]
    disk.fail_writes(1)
    create = disk.create

    def create_and_lose(path: str) -> File:
        lost.append(StorageFailed("another directory"))
        return create(path)

    disk.create = create_and_lose  # type: ignore[method-assign]
    journal.append([entry(SCOPED, 0)], done.append)
    assert str(done[-1]) == "another directory"
    journal.append([entry(1, 1)], done.append)
    assert str(done[-1]) == "another directory", "the file that was not used is still there"
    assert len(disk.list_directory(DIRECTORY)) == 2
    lost.clear()
    journal.append([entry(1, 1)], done.append)
    assert done[-1] is None
    assert disk.list_directory(DIRECTORY) == [f"{FIRST_ID:x}.txn"]


@pytest.mark.parametrize("call", ["list_directory", "create", "open_directory"])
@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENFILE])
def test_while_no_file_can_be_opened_the_journal_goes_on_in_the_old_one(
    disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch, call: str, error: int
) -> None:
    errors: list[BaseException] = []
    journal = new_journal(disk, errors, config=Config(journal_size_bytes_max=2 * spec.ALIGNMENT))
    journal.start()
    done: list[Any] = []
    journal.append([entry(1, 0)], done.append)
    with monkeypatch.context() as patched:
        patched.setattr(disk, call, failing(error))
        journal.append([entry(1, 1)], done.append)
        journal.append([entry(1, 2)], done.append)
    assert disk.list_directory(DIRECTORY) == [f"{FIRST_ID:x}.txn"]
    journal.append([entry(1, 3)], done.append)
    assert len(disk.list_directory(DIRECTORY)) == 2
    assert (done, errors) == ([None] * 4, [])
    assert replayed(disk)[0] == [(1, entry_id) for entry_id in range(4)]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("failing_call", [None, "open_directory", "remove"])
def test_a_new_file_that_could_not_be_written_does_not_come_back_behind_a_torn_group(
    monkeypatch: pytest.MonkeyPatch, failing_call: str | None, seed: int
) -> None:
    """It would make the group look like damage, and the bookie would refuse to start."""
    disk = new_disk(seed)
    errors: list[BaseException] = []
    journal = new_journal(disk, errors)
    journal.start()
    done: list[Any] = []
    create = disk.create
    with monkeypatch.context() as patched:

        def create_durably(path: str) -> File:
            """Make a file whose name and start reach the disk by themselves, and which then cannot be written."""
            file = create(path)
            file.write(file_start(SALT, spec.SCOPED_VERSION), 0)
            file.sync()
            disk.sync_directory(DIRECTORY)
            disk.fail_writes(1, errno.ENOSPC)
            if failing_call is not None:
                patched.setattr(disk, failing_call, failing(errno.EMFILE))
            return file

        patched.setattr(disk, "create", create_durably)
        journal.append([entry(SCOPED, 0)], done.append)
        if failing_call is not None:
            journal.append([entry(1, 0)], done.append)
    assert all(isinstance(error, StorageFailed) for error in done), (
        "the old file gets no longer while there is a new one"
    )
    journal.append([entry(1, 1)], done.append)
    assert (done[-1], errors, disk.list_directory(DIRECTORY)) == (None, [], [f"{FIRST_ID:x}.txn"])
    disk.crash_at = 1  # the group is written and not synced
    journal.append([entry(1, 2, 3000)], done.append)
    disk.restart()
    assert replayed(disk)[0][0] == (1, 1)


def test_no_journal_file_is_made_while_its_name_could_not_be_synced(
    disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = new_journal(disk, config=Config(journal_size_bytes_max=2 * spec.ALIGNMENT))
    journal.start()
    journal.append([entry(1, 0)], lambda _: None)
    made: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(disk, "open_directory", failing(errno.EMFILE))
        patched.setattr(disk, "create", made.append)
        journal.append([entry(1, 1)], lambda _: None)
    assert made == []


def test_a_directory_that_cannot_be_read_refuses_the_group_only(
    disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors: list[BaseException] = []
    journal = new_journal(disk, errors, config=Config(journal_size_bytes_max=2 * spec.ALIGNMENT))
    journal.start()
    done: list[Any] = []
    journal.append([entry(1, 0)], done.append)
    with monkeypatch.context() as patched:
        patched.setattr(disk, "list_directory", failing(errno.EIO))
        journal.append([entry(1, 1)], done.append)
    journal.append([entry(1, 2)], done.append)
    assert isinstance(done[1], StorageFailed)
    assert (done[2], errors) == (None, [])


def failing(error: int) -> Callable[[str], Any]:
    def call(path: str) -> Any:
        raise OSError(error, os.strerror(error), path)

    return call


def test_a_failed_sync_ends_everything(disk: CrashingDisk, worker: SteppedWorker) -> None:
    errors: list[BaseException] = []
    journal = new_journal(disk, errors, threads=worker)
    journal.start()
    worker.step()
    disk.fail_syncs(1)
    done: list[Any] = []
    for entry_id in range(3):
        journal.append([entry(1, entry_id)], done.append)
    before = journal.mark
    worker.run_all()
    journal.append([entry(1, 4)], done.append)
    assert len(done) == 4
    assert all(isinstance(error, StorageFailed) for error in done)
    assert errors == [done[0]]
    assert (journal.state, journal.mark, journal.queued_bytes) == (State.FAILED, before, 0)


def test_a_journal_that_cannot_open_begins_when_it_can(disk: CrashingDisk, result_of: Any) -> None:
    journal = new_journal(disk)
    states: list[bool] = []
    journal.on_failing_changed = lambda: states.append(journal.failing)
    disk.capacity = 0
    result_of(journal.start(LogMark(5, 1024)))
    assert (states, journal.mark, disk.list_directory(DIRECTORY)) == ([True], LogMark(5, 1024), [])
    with pytest.raises(RuntimeError):
        journal.start()
    done: list[Any] = []
    journal.append([entry(1, 0)], done.append)
    journal.try_again()
    assert (states, len(done)) == ([True], 1)
    assert isinstance(done.pop(), StorageFailed)
    disk.capacity = None
    journal.append([entry(1, 1)], done.append)
    assert (states, done) == ([True, False], [None])
    assert replayed(disk)[0] == [(1, 1)]


def test_a_journal_whose_first_file_is_not_synced_says_so(disk: CrashingDisk, failure_of: Any) -> None:
    journal = new_journal(disk)
    disk.fail_syncs(1)
    failure_of(journal.start(), StorageFailed)
    assert journal.state is State.FAILED


def test_a_journal_finds_out_by_itself_that_it_can_be_written_again(disk: CrashingDisk) -> None:
    journal = new_journal(disk)
    journal.start()
    states: list[bool] = []
    journal.on_failing_changed = lambda: states.append(journal.failing)
    journal.try_again()
    disk.fail_writes(3)
    for _ in range(2):
        journal.append([entry(1, 0)], lambda _: None)
    journal.try_again()
    assert states == [True]
    journal.try_again()
    assert states == [True, False]
    before = journal.mark
    journal.try_again()
    assert journal.mark == before
    journal.append([entry(1, 1)], lambda _: None)
    assert replayed(disk)[0] == [(1, 1)]


def test_want_of_descriptors_is_no_failing_disk(disk: CrashingDisk) -> None:
    journal = new_journal(disk)
    journal.start()
    disk.fail_opens(1)
    journal.append([entry(SCOPED, 0)], lambda _: None)
    assert not journal.failing


def test_stop_writes_what_waits(journal: Journal, worker: SteppedWorker, result_of: Any) -> None:
    done: list[Any] = []
    journal.append([entry(1, 0)], done.append)
    journal.append([entry(1, 1)], done.append)
    stops = [journal.stop(), journal.stop()]
    journal.append([entry(1, 2)], done.append)
    assert isinstance(done.pop(), StorageFailed)
    worker.run_all()
    assert done == [None, None]
    assert [result_of(each) for each in (*stops, journal.stop())] == [None] * 3
    assert journal.state is State.STOPPED


@pytest.mark.parametrize("started", [False, True])
def test_stop_of_an_idle_journal(disk: CrashingDisk, result_of: Any, started: bool) -> None:
    journal = new_journal(disk)
    if started:
        journal.start()
    result_of(journal.stop())


def test_stop_while_the_first_file_is_made(disk: CrashingDisk, worker: SteppedWorker, result_of: Any) -> None:
    journal = new_journal(disk, threads=worker)
    journal.start()
    stopped = journal.stop()
    worker.run_all()
    result_of(stopped)


def test_a_stray_name_is_passed_over_while_it_runs(disk: CrashingDisk, result_of: Any) -> None:
    journal = new_journal(disk)
    journal.start()
    disk.replace(f"{DIRECTORY}/old-copy.txn", b"")
    done: list[Any] = []
    for entry_id in range(200):
        journal.append([entry(1, entry_id, 1000)], done.append)
    assert done == [None] * 200
    assert result_of(journal.remove_before(journal.mark))
    with pytest.raises(RefusedToStart, match=r"old-copy.txn"):
        replayed(disk)


def test_files_behind_the_mark_go_but_for_the_newest(disk: CrashingDisk, result_of: Any) -> None:
    journal = new_journal(disk, config=Config(journal_size_bytes_max=2 * spec.ALIGNMENT, journal_backups_max=2))
    journal.start()
    for entry_id in range(6):
        journal.append([entry(1, entry_id)], lambda _: None)
    mark = LogMark(FIRST_ID + 4, FIRST_GROUP)
    assert result_of(journal.remove_before(mark)) == [path_of(FIRST_ID), path_of(FIRST_ID + 1)]
    assert result_of(journal.remove_before(mark)) == []
    assert disk.list_directory(DIRECTORY) == [f"{FIRST_ID + n:x}.txn" for n in range(2, 6)]
    assert replayed(disk, mark)[0] == [(1, 4), (1, 5)]


# Ledgers outside scope 0 ---------------------------------------------------------------------------------------------


def version_of(disk: CrashingDisk, journal_id: int) -> int:
    return int(spec.HEADER.parse(disk.read(path_of(journal_id))).version)


def test_the_first_scoped_record_begins_a_file_of_version_7(disk: CrashingDisk) -> None:
    journal = new_journal(disk)
    journal.start()
    dones: list[Any] = []
    for records in ([entry(5, 0)], [key_record(SCOPED, KEY), entry(SCOPED, 0)], [entry(5, 1)], [entry(SCOPED, 1)]):
        journal.append(records, dones.append)
    assert dones == [None] * 4
    assert [version_of(disk, FIRST_ID + at) for at in (0, 1)] == [6, 7]
    assert disk.list_directory(DIRECTORY) == [f"{FIRST_ID + at:x}.txn" for at in (0, 1)]
    assert read_as_java(disk.read(path_of())) == [(5, 0)]
    assert journal.mark.journal_id == FIRST_ID + 1
    found, result = replayed(disk)
    assert found == [(5, 0), ("key", SCOPED, KEY), (SCOPED, 0), (5, 1), (SCOPED, 1)]
    assert result.mark == journal.mark


@pytest.mark.parametrize("scoped_first", [False, True])
def test_one_scoped_record_in_a_group_is_enough(disk: CrashingDisk, worker: SteppedWorker, scoped_first: bool) -> None:
    journal = new_journal(disk, threads=worker)
    journal.start()
    records = [memoryview(entry(SCOPED, 0)), entry(5, 0), entry(5, 1)]
    for record in records if scoped_first else reversed(records):
        journal.append([record], lambda error: None)
    worker.run_all()
    assert version_of(disk, FIRST_ID) == 6
    assert version_of(disk, FIRST_ID + 1) == 7
    assert len(replayed(disk)[0]) == 3


def test_a_file_behind_a_full_one_is_of_version_7_only_if_it_must_be(disk: CrashingDisk) -> None:
    journal = new_journal(disk, config=Config(journal_size_bytes_max=4 * spec.ALIGNMENT))
    journal.start()
    for ledger_id in (SCOPED, SCOPED, 5, 5, 5, 5, SCOPED):
        journal.append([entry(ledger_id, 0, 600)], lambda error: None)
    ids = range(FIRST_ID, journal.mark.journal_id + 1)
    assert [version_of(disk, each) for each in ids] == [6, 7, 6, 6, 7]
    assert [each for each in replayed(disk)[0] if each != (5, 0)] == [(SCOPED, 0)] * 3


def test_a_scoped_group_fails_alone_when_its_file_cannot_be_made(disk: CrashingDisk) -> None:
    errors: list[BaseException] = []
    journal = new_journal(disk, errors)
    journal.start()
    dones: list[Any] = []
    disk.fail_writes(1)
    journal.append([entry(SCOPED, 0)], dones.append)
    journal.append([entry(5, 0)], dones.append)
    journal.append([entry(SCOPED, 1)], dones.append)
    assert isinstance(dones[0], StorageFailed)
    assert dones[1:] == [None, None]
    assert errors == []
    assert replayed(disk)[0] == [(5, 0), (SCOPED, 1)]

"""bookkeeper_tx.bookie.storage.lost_logs: what is in a log that is gone is not here, and can be stored again."""

import contextlib
import errno
from typing import Any

import pytest

from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.replay_sink import StorageSink
from bookkeeper_tx.errors import NoSuchEntry, StorageFailed, UnknownLedgerState
from protocol_specs.disk.ledger_index import PAGE_COUNT
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import KEY, LEDGER, SCOPED, entry, run_of
from tests.bookie.storage.storages import add, flush, new_storage, read
from tests.conftest import result_of

pytestmark = [
    pytest.mark.usefixtures("ledger_storage_class"),
    pytest.mark.parametrize("ledger_id", [LEDGER, SCOPED]),
]

SIZE = 900
COUNT = 6
LOG_BYTES = 2000


def opened(disk: CrashingDisk, **settings: object) -> LedgerStorage:
    checks: Any = {"data_integrity_checking": True} | settings
    return new_storage(disk, DIRECTORY, entry_log_bytes_max=LOG_BYTES, **checks)


def filled(disk: CrashingDisk, ledger_id: int) -> list[str]:
    """Store entries, each in a log of its own; return the paths of the logs."""
    storage = opened(disk)
    storage.open_for(ledger_id, KEY)
    for entry_id in range(COUNT):
        add(storage, run_of(entry_id, SIZE, ledger_id=ledger_id))
        flush(storage)
    result_of(storage.stop())
    paths = [f"{DIRECTORY}/{each}" for each in disk.list_directory(DIRECTORY) if ".log" in each]
    assert len(paths) == COUNT
    return sorted(paths)


def lose(disk: CrashingDisk, *paths: str) -> None:
    for path in paths:
        disk.remove(path)
    disk.sync_directory(DIRECTORY)


def crashed(disk: CrashingDisk) -> None:
    disk.crash()
    disk.restart()


def test_an_entry_in_a_log_that_is_gone_is_unknown_in_limbo_and_those_in_others_are_read(
    disk: CrashingDisk, ledger_id: int
) -> None:
    paths = filled(disk, ledger_id)
    lose(disk, paths[1], paths[2], paths[5])
    storage = opened(disk, logs_lost=True)
    for limbo, absent in ((False, NoSuchEntry), (True, UnknownLedgerState)):
        ledger = storage.ledger(ledger_id)
        assert ledger is not None
        ledger.limbo = limbo
        for entry_id in (0, 3, 4):
            assert read(storage, ledger_id, entry_id) == entry(entry_id, SIZE, ledger_id)
        for entry_id in (1, 2, 5):
            with pytest.raises(absent):
                read(storage, ledger_id, entry_id)
    assert ledger.last_entry_id == 4
    assert storage.indexed_ranges(ledger_id, 0, 1) == [range(1), range(3, 5)]
    crashed(disk)
    assert opened(disk).indexed_ranges(ledger_id, 0, 1) == [range(1), range(3, 5)]


def test_it_is_stored_again_when_it_is_added_again(disk: CrashingDisk, ledger_id: int) -> None:
    lose(disk, *filled(disk, ledger_id)[1:3])
    storage = opened(disk, logs_lost=True)
    add(storage, run_of(0, *[SIZE] * 4, ledger_id=ledger_id))
    flush(storage)
    crashed(disk)
    storage = opened(disk)
    assert [read(storage, ledger_id, each) for each in range(COUNT)] == [
        entry(each, SIZE, ledger_id) for each in range(COUNT)
    ]


def test_a_replay_stores_what_was_in_a_log_whose_number_comes_again(disk: CrashingDisk, ledger_id: int) -> None:
    lose(disk, *filled(disk, ledger_id), f"{DIRECTORY}/lastId")
    storage = opened(disk, serving=False, logs_lost=True)
    sink = StorageSink(storage)
    for entry_id in reversed(range(COUNT)):
        sink.entries(run_of(entry_id, SIZE, ledger_id=ledger_id))
        storage.flush_now()
    sink.finish()
    crashed(disk)
    storage = opened(disk)
    assert [read(storage, ledger_id, each) for each in range(COUNT)] == [
        entry(each, SIZE, ledger_id) for each in range(COUNT)
    ]


def test_locations_far_apart_are_found(disk: CrashingDisk, ledger_id: int) -> None:
    storage = opened(disk)
    storage.open_for(ledger_id, KEY)
    for number in (0, 1, 5):
        add(storage, run_of((number + 1) * PAGE_COUNT - 1, SIZE, SIZE, ledger_id=ledger_id))
    flush(storage)
    result_of(storage.stop())
    lose(disk, *(f"{DIRECTORY}/{each}" for each in disk.list_directory(DIRECTORY) if ".log" in each))
    assert opened(disk, logs_lost=True).indexed_ranges(ledger_id, 0, 10) == []


def test_without_a_loss_a_location_stays(disk: CrashingDisk, ledger_id: int) -> None:
    lose(disk, *filled(disk, ledger_id)[:1])
    with pytest.raises(StorageFailed):
        read(opened(disk), ledger_id, 0)


def test_indexes_that_cannot_be_read_refuse_the_start(
    disk: CrashingDisk, ledger_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(disk, filled(disk, ledger_id)[1])

    def broken(path: str) -> None:
        if path.endswith((".idx", "ocations")):
            raise OSError(errno.EIO, "I/O error", path)

    with monkeypatch.context() as patched:
        patched.setattr(disk, "admit_read", broken)
        result_of(opened(disk).stop())
        with pytest.raises(StorageFailed, match="I/O error"):
            opened(disk, logs_lost=True)
    assert opened(disk, logs_lost=True).indexed_ranges(ledger_id, 0, 1) == [range(1), range(2, COUNT)]


def test_a_directory_that_cannot_be_listed_refuses_the_start(
    disk: CrashingDisk, ledger_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(disk, filled(disk, ledger_id)[1])
    list_directory = disk.list_directory

    def broken(path: str) -> list[str]:
        if path == DIRECTORY:
            raise OSError(errno.EIO, "I/O error", path)
        return list_directory(path)

    with monkeypatch.context() as patched:
        patched.setattr(disk, "list_directory", broken)
        with pytest.raises(OSError, match="I/O error"):
            opened(disk, logs_lost=True)
    assert opened(disk).indexed_ranges(ledger_id, 0, 1) == [range(COUNT)]


def test_a_directory_that_does_not_answer_once_is_not_gone(
    disk: CrashingDisk, ledger_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = DIRECTORY + "2"
    disk.make_directories(other)
    storage = opened(disk, more=[other])
    storage.open_for(ledger_id, KEY)
    for entry_id in range(COUNT):
        add(storage, run_of(entry_id, SIZE, ledger_id=ledger_id))
        flush(storage)
    result_of(storage.stop())
    listed, list_directory, failing, failed = 0, disk.list_directory, 0, True

    def broken_once(path: str) -> list[str]:
        nonlocal listed, failed
        if path == other:
            listed += 1
            if listed == failing:
                failed = True
                raise OSError(errno.EIO, "I/O error", path)
        return list_directory(path)

    monkeypatch.setattr(disk, "list_directory", broken_once)
    while failed:
        listed, failed, failing = 0, False, failing + 1
        with contextlib.suppress(OSError):
            result_of(opened(disk, more=[other], logs_lost=True).stop())
        listed = failing
        storage = opened(disk, more=[other])
        assert storage.indexed_ranges(ledger_id, 0, 1) == [range(COUNT)]
        result_of(storage.stop())
    assert failing > 1

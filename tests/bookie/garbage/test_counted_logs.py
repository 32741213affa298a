from typing import Any

import pytest
from twisted.internet.defer import Deferred

from bookkeeper_tx.bookie.garbage import counted_logs
from bookkeeper_tx.bookie.garbage.absent_ledgers import AbsentLedgers
from bookkeeper_tx.bookie.garbage.counted_logs import CountedLogs
from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter
from bookkeeper_tx.bookie.storage.entry_log_metadata import EntryLogMetadata, LogName
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import run_of
from tests.bookie.storage.storages import log_directories
from tests.bookie.workers import InlineWorker
from tests.conftest import result_of


class Storage:
    """Knows which ledgers are here; the others are deleted."""

    def __init__(self) -> None:
        self.here = {1, 2, 3}

    def directory_of(self, name: LogName) -> str:
        return DIRECTORY

    def has_ledger(self, ledger_id: int) -> bool:
        return ledger_id in self.here

    def has_deleted(self, ledger_id: int) -> bool:
        return ledger_id not in self.here


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[LogName]:
    """The logs that were counted, in the order of that."""
    names: list[LogName] = []
    count = counted_logs.count

    def noted(disk: Any, directory: str, name: LogName) -> EntryLogMetadata:
        names.append(name)
        return count(disk, directory, name)

    monkeypatch.setattr(counted_logs, "count", noted)
    return names


@pytest.fixture
def storage(disk: CrashingDisk) -> Storage:
    """Three logs of one ledger each."""
    writer = EntryLogWriter(disk, log_directories(disk), 1 << 30)
    writer.start()
    for ledger_id in (1, 2, 3):
        writer.write([(ledger_id, [run_of(0, 41, ledger_id=ledger_id)])])
        writer.end_dead(lambda _: False)
    return Storage()


def logs_of(disk: CrashingDisk, storage: Storage, **limits: int) -> CountedLogs:
    collected: Any = storage
    nobody: Any = None
    absent = AbsentLedgers(nobody, collected, "a:1", nobody, nobody)
    return CountedLogs(disk, collected, InlineWorker(), absent, **limits)


def get(logs: CountedLogs, log_id: int) -> EntryLogMetadata | None:
    metadata: EntryLogMetadata | None = result_of(Deferred.fromCoroutine(logs.get(LogName(log_id))))
    return metadata


def test_a_log_is_counted_once(disk: CrashingDisk, storage: Storage, counted: list[LogName]) -> None:
    logs = logs_of(disk, storage)
    assert [get(logs, each).total_bytes for each in (0, 1, 0, 1)] == [45] * 4  # type: ignore[union-attr]
    assert counted == [LogName(0), LogName(1)]
    storage.here.discard(1)
    assert get(logs, 0).remaining_bytes == 0  # type: ignore[union-attr]
    logs.retain([LogName(1)])
    get(logs, 0)
    assert counted[2:] == [LogName(0)]


def test_what_does_not_fit_the_memory_is_counted_again(
    disk: CrashingDisk, storage: Storage, counted: list[LogName]
) -> None:
    logs = logs_of(disk, storage, memory_bytes_max=1100)
    for each in (0, 1, 0, 2, 0, 1):
        get(logs, each)
    assert [each.log_id for each in counted] == [0, 1, 2, 1]


def test_a_log_that_cannot_be_opened_is_tried_again_and_a_damaged_one_is_not(
    disk: CrashingDisk, storage: Storage, counted: list[LogName]
) -> None:
    logs = logs_of(disk, storage)
    disk.fail_opens(1)
    assert get(logs, 0) is None
    assert get(logs, 0) is not None
    disk.open(f"{DIRECTORY}/1.log", writable=True).write(b"X", 0)
    assert [get(logs, 1), get(logs, 1)] == [None, None]
    assert counted == [LogName(0), LogName(0), LogName(1)]
    assert list(logs.unreadable) == [LogName(1)]
    logs.retain([])
    assert not logs.unreadable

"""What is left of deleted ledgers whose indexes could not be removed is never found again."""

import errno
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TypeAlias

import pytest
from twisted.internet.defer import Deferred, succeed

from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.replay_sink import StorageSink
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.crashing_key_values import CrashingKeyValues
from tests.bookie.seams import KEY, OTHER_KEY, entry, run_of
from tests.bookie.storage.storages import MARK, add, flush, new_storage, read
from tests.conftest import result_of

pytestmark = pytest.mark.usefixtures("ledger_storage_class")

Unremovable: TypeAlias = Callable[[], AbstractContextManager[None]]

COUNT = 6


@pytest.fixture
def unremovable(disk: CrashingDisk, monkeypatch: pytest.MonkeyPatch) -> Unremovable:
    """Within it no index can be removed."""
    remove = disk.remove

    def fail_to_remove(path: str) -> None:
        if path.endswith(".idx"):
            raise OSError(errno.EIO, "broken", path)
        remove(path)

    def fail_to_delete(self: CrashingKeyValues, ranges: object) -> None:
        raise OSError(errno.ENOSPC, "no room to delete")

    @contextmanager
    def patched() -> Iterator[None]:
        with monkeypatch.context() as patches:
            patches.setattr(disk, "remove", fail_to_remove)
            patches.setattr(CrashingKeyValues, "delete_ranges", fail_to_delete)
            yield

    return patched


@pytest.fixture
def storage(disk: CrashingDisk) -> LedgerStorage:
    """A ledger in a log of its own, and little memory for index pages."""
    storage = new_storage(disk, DIRECTORY, entry_log_bytes_max=1200, index_pages_max=1)
    storage.open_for(7, KEY)
    add(storage, run_of(0, *[100] * COUNT))
    flush(storage)
    return storage


def delete(storage: LedgerStorage) -> None:
    """Delete the ledger, and all logs, as a collector does when nothing else is in them."""
    collection = storage.collection
    assert result_of(collection.delete_ledgers([7])) == [7]
    for name in result_of(collection.finished_logs()):
        result_of(collection.delete_log(name))


def come_back(storage: LedgerStorage, first: int, count: int) -> None:
    ledger, _ = storage.open_for(7, OTHER_KEY)
    held = result_of(storage.loader.load_for_add(7, first, first + count - 1))
    records = storage.add(ledger, run_of(first, *[90] * count))
    assert sum(map(len, records)) == count * 94, "some are taken for stored"
    del held


def test_a_ledger_that_comes_back_has_all_that_it_is_given(
    disk: CrashingDisk, storage: LedgerStorage, unremovable: Unremovable
) -> None:
    with unremovable():
        delete(storage)
    come_back(storage, 3, 3)
    flush(storage)
    storage.open_for(9, KEY)  # whose page takes the place of that of the other
    add(storage, run_of(0, *[40] * 1000, ledger_id=9))
    flush(storage)
    come_back(storage, 0, 3)
    flush(storage)
    disk.restart()
    again = new_storage(disk, DIRECTORY)
    for entry_id in range(COUNT):
        assert read(again, 7, entry_id) == entry(entry_id, 90)


def test_a_collection_leaves_the_new_index_of_a_ledger_that_comes_back(
    storage: LedgerStorage, unremovable: Unremovable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: EntryLogWriter, ledgers: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    with unremovable():
        delete(storage)
    come_back(storage, 0, COUNT)
    with monkeypatch.context() as patched:
        patched.setattr(EntryLogWriter, "write", full)
        with pytest.raises(OSError, match="full"):
            flush(storage)
    result_of(storage.collection.finished_logs())
    flush(storage)
    for entry_id in range(COUNT):
        assert read(storage, 7, entry_id) == entry(entry_id, 90)


def test_the_journal_tells_of_it_behind_each_mark_until_it_is_removed(
    storage: LedgerStorage, unremovable: Unremovable
) -> None:
    journaled: list[Sequence[int] | str] = []

    def journal(ledger_ids: Sequence[int]) -> Deferred[bool]:
        journaled.append(ledger_ids)
        return succeed(True)

    def sample(name: str) -> object:
        journaled.append(name)
        return MARK

    storage.collection.journal_deleted = journal
    with unremovable():
        delete(storage)
        for name in ("first", "second"):
            result_of(storage.flush(partial(sample, name)))  # type: ignore[arg-type]
    assert journaled == [[7], "first", [7], "second", [7]]
    result_of(storage.flush(partial(sample, "third")))  # type: ignore[arg-type]
    assert journaled[5:] == ["third"]
    assert not storage.holds_mark


def test_the_mark_stays_while_that_cannot_be_journaled(storage: LedgerStorage, unremovable: Unremovable) -> None:
    with unremovable():
        delete(storage)
        for told in (False, True, False):
            storage.collection.journal_deleted = lambda _, told=told: succeed(told)  # type: ignore[misc]
            result_of(storage.flush(lambda: MARK))
            assert storage.holds_mark is not told
    result_of(storage.flush(lambda: MARK))
    assert not storage.holds_mark


def test_a_replay_goes_on_and_the_next_collection_removes_it(
    disk: CrashingDisk, storage: LedgerStorage, unremovable: Unremovable
) -> None:
    again = new_storage(disk, DIRECTORY, serving=False)
    sink = StorageSink(again)
    with unremovable():
        sink.deleted(7)
    sink.finish()
    assert again.ledger(7) is None
    result_of(again.collection.finished_logs())
    assert new_storage(disk, DIRECTORY).ledger(7) is None

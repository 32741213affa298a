"""Looking whether entries are where the index of a storage that serves says, with each class of storage."""

import errno
from collections.abc import Iterator
from typing import Any

import pytest

from bookkeeper_tx.bookie.key_values import NOT_OPEN
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.scrub import Looked, ScrubFailed
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.fields import NO_ENTRY
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import KEY, LEDGER, SCOPED, run_of
from tests.bookie.storage.storages import add, flush, index_files_only, new_storage


@pytest.fixture(params=["SortedLedgerStorage", "DbLedgerStorage"])
def ledger_storage_class(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def storage(disk: CrashingDisk, ledger_storage_class: str) -> Iterator[LedgerStorage]:
    """One with a few entries of a page, and of the next one, and with a ledger of another scope."""
    storage = new_storage(disk, DIRECTORY, ledger_storage_class=ledger_storage_class)
    for ledger_id, first, sizes in ((LEDGER, 0, [50, 60, 70]), (LEDGER, 1030, [50] * 40), (SCOPED, 3, [50])):
        storage.open_for(ledger_id, KEY)
        add(storage, run_of(first, *sizes, ledger_id=ledger_id))
    flush(storage)
    yield storage
    storage.stop()


def zero(disk: CrashingDisk, name: str, offset: int, size: int) -> None:
    file = disk.open(f"{DIRECTORY}/{name}", writable=True)
    file.write(bytes(size), offset)


def test_a_ledger_is_looked_at_some_entries_at_a_time(storage: LedgerStorage) -> None:
    look = storage.scrub.look
    assert look(LEDGER, 0, 2) == Looked(2, [], 2)
    assert look(LEDGER, 2, 2) == Looked(1, [], 1024)
    assert look(LEDGER, 1024, 30) == Looked(30, [], 1060)
    assert look(LEDGER, 1060, 30) == Looked(10, [], 2048)
    assert look(LEDGER, 2048, 30) == Looked(0, (), None)
    assert look(SCOPED, 0, 1024) == Looked(1, [], 1024)
    assert look(999, 0, 1024).next_id is None


def test_an_entry_that_is_not_where_the_index_says_is_a_suspect(storage: LedgerStorage, disk: CrashingDisk) -> None:
    zero(disk, "0.log", 1024 + 54 + 4, 16)  # the ids of the second one
    looked = storage.scrub.look(LEDGER, 0, 1024)
    assert (looked.entry_count, looked.next_id) == (3, 1024)
    (suspect,) = looked.suspects
    assert (suspect.entry_id, suspect.location) == (1, 1024 + 54 + 4)
    assert "is not at offset" in suspect.text


def test_all_entries_of_a_log_that_is_gone_are_suspects(storage: LedgerStorage, disk: CrashingDisk) -> None:
    disk.remove(f"{DIRECTORY}/0.log")
    looked = storage.scrub.look(LEDGER, 0, 1024)
    assert [each.entry_id for each in looked.suspects] == [0, 1, 2]
    assert storage.scrub.look(SCOPED, 0, 1024).suspects == []


@index_files_only
def test_an_index_that_is_gone_is_a_suspect(storage: LedgerStorage, disk: CrashingDisk) -> None:
    (path,) = [path for path in disk._names if path.endswith(f"/{LEDGER:x}.idx")]
    disk.remove(path)
    looked = storage.scrub.look(LEDGER, 0, 1024)
    assert (looked.next_id, [each.entry_id for each in looked.suspects]) == (None, [NO_ENTRY])


@pytest.mark.parametrize(
    ("number", "raised"), [(errno.EIO, ScrubFailed), (errno.EMFILE, StorageFailed), (NOT_OPEN, StorageFailed)]
)
def test_what_the_disk_does_not_give_is_no_suspect(
    storage: LedgerStorage, monkeypatch: pytest.MonkeyPatch, number: int, raised: type[Exception]
) -> None:
    def read(*_: object) -> object:
        try:
            raise OSError(number, "broken")
        except OSError as error:
            raise StorageFailed("cannot read") from error

    monkeypatch.setattr(storage.scrub._reader, "read_run", read)
    with pytest.raises(StorageFailed, match="cannot read") as caught:
        storage.scrub.look(LEDGER, 0, 1024)
    assert type(caught.value) is raised

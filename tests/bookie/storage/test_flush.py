import pytest

from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter
from bookkeeper_tx.bookie.storage.flush import StorageFlush
from bookkeeper_tx.bookie.storage.index_writer import IndexWriter
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.ledger_index import LedgerIndexes
from bookkeeper_tx.bookie.storage.unflushed import Snapshot, Unflushed
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import KEY, run_of
from tests.bookie.storage.storages import MARK, log_directories


@pytest.fixture
def indexes(disk: CrashingDisk) -> LedgerIndexes:
    return LedgerIndexes(disk, DIRECTORY, 2)


@pytest.fixture
def flush(disk: CrashingDisk, indexes: LedgerIndexes) -> StorageFlush:
    logs = EntryLogWriter(disk, log_directories(disk), 2**30)
    logs.start()
    return StorageFlush(logs, IndexWriter(disk, indexes), 2)


def snapshot_of(*ledger_ids: int) -> Snapshot:
    unflushed = Unflushed(2**20)
    for ledger_id in ledger_ids:
        unflushed.change(Ledger(ledger_id, KEY))
        if ledger_id % 2:
            unflushed.active.add(run_of(0, 30, 30, ledger_id=ledger_id))
    return unflushed.take_snapshot(MARK)


def test_slices_are_of_ledgers_in_order(flush: StorageFlush, indexes: LedgerIndexes) -> None:
    flush.begin(snapshot_of(5, 3, 4, 9, 7))
    slices = []
    while flush.left:
        assert indexes.read_header(flush.left[0]) is None
        slices.append(flush.write_slice())
        assert all(indexes.read_header(each) for each in slices[-1].ledger_ids)
    assert [each.ledger_ids for each in slices] == [[3, 4], [5, 7], [9]]
    assert [
        [(each.ledger_id, each.number, each.slot, len(each.locations)) for each in written.pages] for written in slices
    ] == [
        [(3, 0, 0, 2)],
        [(5, 0, 0, 2), (7, 0, 0, 2)],
        [(9, 0, 0, 2)],
    ]


def test_entries_are_on_the_disk_before_the_first_index(
    disk: CrashingDisk, flush: StorageFlush, indexes: LedgerIndexes
) -> None:
    flush.begin(snapshot_of(3, 5))
    assert len(disk.read(f"{DIRECTORY}/0.log")) == 1024 + 4 * 34
    disk.crash()
    disk.restart()
    assert len(disk.read(f"{DIRECTORY}/0.log")) == 1024 + 4 * 34
    assert indexes.read_header(3) is None


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_slice_that_failed_is_written_again_and_none_before_it(
    disk: CrashingDisk, flush: StorageFlush, failing: int
) -> None:
    snapshot = snapshot_of(3, 5, 7, 9)
    flush.begin(snapshot)
    flush.write_slice()
    size = len(disk.read(f"{DIRECTORY}/0.log"))
    disk.fail_syncs(failing)
    for _ in range(failing):
        with pytest.raises(OSError, match="Input/output"):
            flush.write_slice()
        flush.begin(snapshot)
        assert list(flush.left) == [7, 9]
    assert flush.write_slice().ledger_ids == [7, 9]
    assert not flush.left
    assert len(disk.read(f"{DIRECTORY}/0.log")) == size

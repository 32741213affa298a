import pytest

from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter
from bookkeeper_tx.bookie.storage.flush import StorageFlush
from bookkeeper_tx.bookie.storage.index_writer import IndexChange, IndexWriter
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.ledger_index import LedgerIndexes
from bookkeeper_tx.bookie.storage.unflushed import Snapshot, Unflushed
from bookkeeper_tx.bookie.storage.unremoved_indexes import UnremovedIndexes
from tests.bookie.crashing_disk import DIRECTORY, Crashed, CrashingDisk, new_disk
from tests.bookie.seams import KEY, run_of
from tests.bookie.storage.storages import MARK, log_directories


@pytest.fixture
def indexes(disk: CrashingDisk) -> LedgerIndexes:
    return LedgerIndexes(disk, DIRECTORY, 2)


def made(disk: CrashingDisk, indexes: LedgerIndexes) -> StorageFlush:
    logs = EntryLogWriter(disk, log_directories(disk), 2**30)
    logs.start()
    writer = IndexWriter(disk, indexes)
    return StorageFlush(logs, writer, UnremovedIndexes(writer), 2)


@pytest.fixture
def flush(disk: CrashingDisk, indexes: LedgerIndexes) -> StorageFlush:
    return made(disk, indexes)


def unflushed_of(*ledger_ids: int) -> Unflushed:
    """Return ledgers that are new, those of odd ids with entries."""
    unflushed = Unflushed(2**20, 2**20)
    for ledger_id in ledger_ids:
        unflushed.change(Ledger(ledger_id, KEY))
        if ledger_id % 2:
            unflushed.active.add(run_of(0, 30, 30, ledger_id=ledger_id))
    return unflushed


def snapshot_of(*ledger_ids: int) -> Snapshot:
    return unflushed_of(*ledger_ids).take_snapshot(MARK)


def located(indexes: LedgerIndexes, *ledger_ids: int) -> list[int]:
    """Return the ledgers whose entries have locations."""
    return [each for each in ledger_ids if indexes.read_header(each) and indexes.ranges(each, 0, 1)]


def test_slices_are_of_ledgers_in_order(flush: StorageFlush, indexes: LedgerIndexes) -> None:
    flush.begin(snapshot_of(5, 3, 4, 9, 7))
    slices = []
    while flush.left:
        assert located(indexes, *flush.left) == []
        slices.append(flush.write_slice())
        assert all(indexes.read_header(each) for each in slices[-1].ledger_ids)
        assert located(indexes, *slices[-1].ledger_ids) == [each for each in slices[-1].ledger_ids if each % 2]
    assert [each.ledger_ids for each in slices] == [[3, 4], [5, 7], [9]]
    assert [
        [(each.ledger_id, each.number, each.slot, len(each.locations)) for each in written.pages] for written in slices
    ] == [
        [(3, 0, 0, 2)],
        [(5, 0, 0, 2), (7, 0, 0, 2)],
        [(9, 0, 0, 2)],
    ]


def test_entries_are_on_the_disk_before_the_first_location(
    disk: CrashingDisk, flush: StorageFlush, indexes: LedgerIndexes
) -> None:
    flush.begin(snapshot_of(3, 5))
    assert len(disk.read(f"{DIRECTORY}/0.log")) == 1024 + 4 * 34
    disk.crash()
    disk.restart()
    assert len(disk.read(f"{DIRECTORY}/0.log")) == 1024 + 4 * 34
    assert located(indexes, 3, 5) == []


def test_one_index_comes_before_the_entries_while_there_may_be_none(
    flush: StorageFlush, indexes: LedgerIndexes
) -> None:
    flush.begin(snapshot_of(4))
    assert list(indexes.ledger_ids()) == [], "there are no entries"
    flush.write_slice()
    indexed = [4]
    for new in (3, 5):
        flush.begin(snapshot_of(new, 7, 9))
        indexed.append(new)
        assert sorted(indexes.ledger_ids()) == sorted(indexed)
        flush.begin(snapshot_of(11, 13))
        assert sorted(indexes.ledger_ids()) == sorted(indexed), "there is one"
        flush.indexes_deleted()


def test_an_index_that_vanishes_before_its_locations_are_written_is_not_made_once_more(
    disk: CrashingDisk, flush: StorageFlush, indexes: LedgerIndexes
) -> None:
    """It would be lost when the other one comes back."""
    snapshot = snapshot_of(3, 5)
    flush.begin(snapshot)
    disk.rename(indexes.path(3), f"{DIRECTORY}/away")
    with pytest.raises(FileNotFoundError):
        flush.write_slice()
    flush.begin(snapshot)
    disk.rename(f"{DIRECTORY}/away", indexes.path(3))
    assert flush.write_slice().ledger_ids == [3, 5]
    assert located(indexes, 3, 5) == [3, 5]


@pytest.mark.parametrize("before", ["nothing", "an index that a kill has left, in the page cache only"])
@pytest.mark.parametrize("seed", range(10))
def test_no_power_cut_leaves_entries_and_no_index(seed: int, before: str) -> None:
    """So a start that finds that knows that the indexes were lost."""
    steps, found = 0, set[tuple[bool, bool]]()
    while True:
        disk = new_disk(seed)
        indexes = LedgerIndexes(disk, DIRECTORY, 2)
        flush = made(disk, indexes)
        unflushed = unflushed_of(3)
        if before != "nothing":
            disk.syncs_lie = True
            IndexWriter(disk, indexes).write([IndexChange(3, Ledger(3, KEY).header(), (), is_new=True)])
            disk.syncs_lie = False
            found_again = Ledger(3, KEY)
            found_again.indexed = True
            unflushed.change(found_again, doubtful=True)
        disk.crash_at = steps
        try:
            flush.begin(unflushed.take_snapshot(MARK))
            break
        except Crashed:
            disk.restart()
        log = f"{DIRECTORY}/0.log"
        has_index = next(LedgerIndexes(disk, DIRECTORY, 2).ledger_ids(), None) is not None
        found.add((disk.exists(log) and len(disk.read(log)) > 1024, has_index))
        steps += 1
    assert (False, True) in found
    assert (True, False) not in found


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

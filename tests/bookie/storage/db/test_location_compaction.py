"""Compactions of the databases of locations: one at a time, told while they run."""

from bookkeeper_tx.bookie.storage.db.indexes import DbIndexes
from bookkeeper_tx.bookie.storage.db.location_compaction import LocationCompaction
from bookkeeper_tx.bookie.storage.index_writer import IndexChange
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import SCOPED
from tests.bookie.storage.db.test_indexes import CONFIG, HEADER, opened
from tests.bookie.storage.several.several_storages import SECOND, two_disks
from tests.bookie.storage.storages import placed
from tests.bookie.workers import SteppedWorker

PLAIN, OTHERS = f"{DIRECTORY}/locations", f"{DIRECTORY}/scopedLocations"


def test_a_database_is_compacted_once_and_one_after_the_other(disk: CrashingDisk) -> None:
    indexes, thread = opened(disk), SteppedWorker()
    compaction = LocationCompaction([indexes], thread)
    assert compaction.compacting() == {PLAIN: False}
    indexes.write([IndexChange(SCOPED, HEADER, [placed(0, 3)], True)])
    compaction.compact([PLAIN])
    compaction.compact([PLAIN, OTHERS])
    assert compaction.compacting() == {PLAIN: True, OTHERS: True}
    assert len(thread.jobs) == 2
    thread.step()
    assert compaction.compacting() == {PLAIN: False, OTHERS: True}
    thread.step()
    compaction.compact([PLAIN])
    assert compaction.compacting() == {PLAIN: True, OTHERS: False}


def test_one_that_fails_has_ended_and_can_be_asked_for_again(disk: CrashingDisk) -> None:
    thread = SteppedWorker()
    compaction = LocationCompaction([opened(disk)], thread)
    disk.remove_key_values(PLAIN)
    for _ in range(2):
        compaction.compact([PLAIN])
        thread.step()
        assert compaction.compacting() == {PLAIN: False}


def test_those_of_several_directories_are_told_and_compacted_alike() -> None:
    disk, thread = two_disks(), SteppedWorker()
    several = [DbIndexes(disk, directory, CONFIG) for directory in (DIRECTORY, SECOND)]
    for each in several:
        each.open()
    compaction = LocationCompaction(several, thread)
    second = f"{SECOND}/locations"
    compaction.compact([second])
    assert compaction.compacting() == {PLAIN: False, second: True}
    thread.step()
    assert compaction.compacting() == {PLAIN: False, second: False}


def test_before_the_start_there_are_none(disk: CrashingDisk) -> None:
    indexes = DbIndexes(disk, DIRECTORY, CONFIG)
    assert LocationCompaction([indexes], SteppedWorker()).compacting() == {}

import pytest

from bookkeeper_tx.bookie.storage.compaction_leftovers import clean
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["1.log", "3.log.compacting"], ["1.log"]),
        (["1.log", "3.log.1.compacted"], ["1.log", "3.log"]),
        (["1.log", "3.log", "3.log.1.compacted"], ["1.log", "3.log"]),
        (["3.log.x.compacted", "x.log.3.compacted"], []),
        (["1.log", "1.log128", "lastId", "VERSION"], ["1.log", "1.log128", "VERSION", "lastId"]),
    ],
)
def test_half_logs_go_and_whole_ones_stay(disk: CrashingDisk, before: list[str], after: list[str]) -> None:
    for name in before:
        disk.create(f"{DIRECTORY}/{name}")
    disk.sync_directory(DIRECTORY)
    clean(disk, DIRECTORY)
    assert disk.list_directory(DIRECTORY) == after
    disk.crash()
    disk.restart()
    assert disk.list_directory(DIRECTORY) == after


def test_on_a_read_only_file_system_they_stay(disk: CrashingDisk) -> None:
    for name in ("1.log", "3.log.compacting", "4.log.1.compacted"):
        disk.create(f"{DIRECTORY}/{name}")
    disk.read_only = True
    clean(disk, DIRECTORY)
    assert disk.list_directory(DIRECTORY) == ["1.log", "3.log.compacting", "4.log.1.compacted"]

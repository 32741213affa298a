"""bookkeeper_tx.bookie.start_check: the local consistency check of a bookie that starts, over real storage."""

import pytest

from bookkeeper_tx.errors import RefusedToStart
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import KEY, LEDGER, SCOPED, run_of
from tests.bookie.storage.storages import add, flush, new_storage
from tests.bookie.test_bookie import Started

pytestmark = pytest.mark.usefixtures("ledger_storage_class")

LEDGERS = (LEDGER, SCOPED)


def stored(disk: CrashingDisk) -> None:
    storage = new_storage(disk, DIRECTORY)
    for ledger_id in LEDGERS:
        storage.open_for(ledger_id, KEY)
        add(storage, run_of(0, *[41] * 20, ledger_id=ledger_id))
    flush(storage)


def test_a_bookie_whose_entries_are_all_there_starts(disk: CrashingDisk) -> None:
    stored(disk)
    Started(disk, local_consistency_check=True)


@pytest.mark.parametrize("suffix", [".log", ".log128"])
def test_a_bookie_with_a_log_that_is_gone_refuses_to_start_with_all_that_can_be_done(
    disk: CrashingDisk, suffix: str
) -> None:
    stored(disk)
    for name in [each for each in disk.list_directory(DIRECTORY) if each.endswith(suffix)]:
        disk.remove(f"{DIRECTORY}/{name}")
    with pytest.raises(
        RefusedToStart,
        match=r"^20 entries of .* are not where the indexes say, the first: entry 0 of ledger .*; or leave out localC",
    ):
        Started(disk, local_consistency_check=True)
    Started(disk)


def test_what_only_the_journal_has_is_flushed_before(disk: CrashingDisk) -> None:
    before = Started(disk)
    for entry_id in range(20):
        before.add(entry_id)
    disk.crash()
    disk.restart()
    Started(disk, local_consistency_check=True)

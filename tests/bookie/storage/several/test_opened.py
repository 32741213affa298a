"""bookkeeper_tx.bookie.storage.several.opened: several storages take what one does."""

import pytest

from bookkeeper_tx.bookie.disks import BookieDisks
from bookkeeper_tx.bookie.storage.checked_pieces import PIECES_MAX
from bookkeeper_tx.bookie.storage.entry_reader import OPEN_LOGS_MAX
from bookkeeper_tx.bookie.storage.ledger_table import LEDGERS_MAX
from bookkeeper_tx.bookie.storage.several.opened import storage_of
from bookkeeper_tx.bookie.storage.several.storages import storages_of
from bookkeeper_tx.config import BookieConfig
from tests.bookie.crashing_disk import new_disk
from tests.bookie.workers import InlineWorker


@pytest.mark.parametrize("count", [1, 2, 8])
def test_the_bounds_of_several_storages_add_up_to_those_of_one(count: int) -> None:
    disk, directories = new_disk(0), [f"/{at}/current" for at in range(count)]
    config = BookieConfig(
        metadata_uri="", journal_directory="", ledger_directory="", ledger_storage_class="DbLedgerStorage"
    )
    homes = BookieDisks(disk, [], directories, directories, config).homes
    made = storage_of(disk, homes, config, InlineWorker(), InlineWorker(), lambda: 0.0, lambda names: names[0])
    storages = storages_of(made)
    assert len(storages) == count
    assert sum(each._pieces._count_max for each in storages) == PIECES_MAX
    assert sum(each._reader._files._count_max for each in storages) == OPEN_LOGS_MAX
    assert sum(each._ledgers._count_max for each in storages) == LEDGERS_MAX
    assert sum(each.write_cache_bytes[1] for each in storages) == 2 * config.write_cache_bytes_max

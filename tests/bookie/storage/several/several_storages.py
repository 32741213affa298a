"""Storages of several directories to test with."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.disks import BookieDisks
from bookkeeper_tx.bookie.storage.flush import SLICE_COUNT
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.replay_sink import StorageSink
from bookkeeper_tx.bookie.storage.several.homes import share_of
from bookkeeper_tx.bookie.storage.several.storages import SeveralStorages
from bookkeeper_tx.config import BookieConfig
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk, new_disk
from tests.bookie.workers import InlineWorker

SECOND = "/second/current"
TIME_S = 1_700_000_000.0


def two_disks(seed: int = 0) -> CrashingDisk:
    disk = new_disk(seed)
    disk.make_directories(SECOND)
    return disk


def made_currents(first: Path, second: Path) -> tuple[str, str]:
    """Make the ``current`` of two directories of a bookie, and return their paths."""
    currents = first / "current", second / "current"
    for current in currents:
        current.mkdir(parents=True, exist_ok=True)
    return str(currents[0]), str(currents[1])


def several_storages(
    disk: Disk,
    directories: Sequence[str] = (DIRECTORY, SECOND),
    *,
    serving: bool = True,
    slice_count: int = SLICE_COUNT,
    logs_lost: bool = False,
    indexes: Sequence[str] = (),
    **settings: Any,
) -> SeveralStorages:
    """Make the storages of ``directories`` and start them; ``serving`` False leaves them open for a replay.

    ``indexes``: the directories of the databases, if they are others.
    """
    settings = {"ledger_storage_class": "DbLedgerStorage"} | settings
    config = BookieConfig(metadata_uri="", journal_directory="", ledger_directory="", **settings)
    homes = BookieDisks(disk, [], directories, indexes or directories, config).homes
    share = share_of(config, len(homes))
    workers = InlineWorker(), InlineWorker()
    storages = [
        LedgerStorage(disk, home.ledgers, share, *workers, slice_count, lambda: TIME_S, home.indexes) for home in homes
    ]
    several = SeveralStorages(storages, directories)
    several.lost_logs.possible = logs_lost
    several.start()
    if serving:
        StorageSink(several).finish()
    return several

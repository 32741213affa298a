"""Ledger storage for tests: on any disk, without threads, with limits small enough to be reached."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.bookie.space import LedgerDisks
from bookkeeper_tx.bookie.storage.entry_log import PlacedRun
from bookkeeper_tx.bookie.storage.flush import SLICE_COUNT
from bookkeeper_tx.bookie.storage.index_writer import IndexChange, IndexWriter
from bookkeeper_tx.bookie.storage.ledger import while_held
from bookkeeper_tx.bookie.storage.ledger_directories import LedgerDirectories
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader, LedgerIndexes
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.placed_locations import WrittenLocations
from bookkeeper_tx.bookie.storage.replay_sink import StorageSink
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs.ledger_id import SCOPED_MIN
from tests.bookie.crashing_disk import DIRECTORY
from tests.bookie.seams import run_of
from tests.bookie.workers import InlineWorker
from tests.conftest import result_of

MARK = LogMark(1, 512)

index_files_only = pytest.mark.parametrize("ledger_storage_class", ["SortedLedgerStorage"], indirect=True)
"""Marks a test that looks at index files, in a module whose tests are for each class of storage."""


def new_storage(
    disk: Disk,
    directory: str,
    *,
    flush_worker: Any = None,
    read_worker: Any = None,
    serving: bool = True,
    slice_count: int = SLICE_COUNT,
    time_s: Callable[[], float] = lambda: 1_700_000_000.0,
    more: Sequence[str] = (),
    indexes: Sequence[str] = (),
    logs_lost: bool = False,
    disks: LedgerDisks | None = None,
    **settings: Any,
) -> LedgerStorage:
    """Make a storage and start it; ``serving`` False leaves it open for a replay, ``more`` are further directories.

    ``indexes``: those of the indexes, if they are others; ``logs_lost``: entry logs may be gone with their directory;
    ``disks``, if given, have the directories.
    """
    config = BookieConfig(metadata_uri="", journal_directory=directory, ledger_directory=directory, **settings)
    disks = disks or LedgerDisks(disk, [directory, *more], config)
    workers = flush_worker or InlineWorker(), read_worker or InlineWorker()
    index_disks = LedgerDisks(disk, indexes, config) if indexes else None
    storage = LedgerStorage(disk, disks, config, *workers, slice_count, time_s, index_disks)
    storage.lost_logs.possible = logs_lost
    storage.start()
    if serving:
        StorageSink(storage).finish()
    return storage


def disks_of(disk: Disk, *directories: str, **settings: Any) -> LedgerDisks:
    """Return the disks of ledger directories, none of which was looked at."""
    config = BookieConfig(metadata_uri="", journal_directory="", ledger_directory="", **settings)
    return LedgerDisks(disk, directories or [DIRECTORY], config)


def log_directories(disk: Disk, *directories: str) -> LedgerDirectories:
    """Return what says where entry logs are: in one directory, or, by turns, in several."""
    return LedgerDirectories(disk, disks_of(disk, *directories), choose=lambda names: names[0])


def add(storage: AnyStorage, run: EntryRun) -> None:
    """Add a run to its ledger, which was made before, after the wait for what that needs."""
    ledger = storage.ledger(run.ledger_id)
    assert ledger is not None
    loading = storage.loader.load_for_add(run.ledger_id, run.first_entry_id, run.last_entry_id)
    while_held(result_of(loading), storage.add, ledger, run)


def read(storage: AnyStorage, ledger_id: int, entry_id: int) -> bytes:
    """Return an entry; raises the error of the storage."""
    run = storage.cached_run(ledger_id, entry_id)
    if run is None:
        run = result_of(storage.load_run(ledger_id, entry_id))
    assert isinstance(run, EntryRun)
    assert run.ledger_id == ledger_id
    assert entry_id in run
    return run.entry(entry_id)


def flush(storage: AnyStorage) -> None:
    """Flush; raises the error of the storage."""
    assert result_of(storage.flush(lambda: MARK)) == MARK


def explicit_lac(ledger_id: int, last_add_confirmed: int, digest_size: int) -> bytes:
    """Return the body of a WRITE_LAC request, with only the fields that a bookie reads."""
    owner = b"\xa3" + ledger_id.to_bytes(16, "big") if ledger_id >= SCOPED_MIN else ledger_id.to_bytes(8, "big")
    return owner + last_add_confirmed.to_bytes(8, "big") + bytes(digest_size)


def placed(first: int, count: int, base: int = 1028) -> PlacedRun:
    """Place a run of ``count`` entries at ``base``."""
    return PlacedRun(run_of(first, *[30] * count), base)


def write_index(
    disk: Disk,
    indexes: LedgerIndexes,
    ledger_id: int,
    header: IndexHeader | None,
    placed: Sequence[PlacedRun],
    is_new: bool,
) -> WrittenLocations:
    """Write one index."""
    (written,) = IndexWriter(disk, indexes).write([IndexChange(ledger_id, header, placed, is_new)])
    return written

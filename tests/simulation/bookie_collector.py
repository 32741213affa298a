"""The garbage collector of a simulated bookie, watched: what it says that it has deleted, and has moved."""

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from bookkeeper_tx.bookie.bookie import Bookie
from bookkeeper_tx.bookie.disks import HomeDisks
from bookkeeper_tx.bookie.garbage.collector import GarbageCollector
from bookkeeper_tx.bookie.garbage.collectors import GarbageCollectors
from bookkeeper_tx.bookie.storage.collection import StorageCollection
from bookkeeper_tx.bookie.storage.entry_log import PlacedRun
from bookkeeper_tx.bookie.storage.entry_log_metadata import LogName
from bookkeeper_tx.bookie.storage.entry_mover import Moved
from bookkeeper_tx.config import BookieConfig
from tests.bookie.crashing_disk import CrashingDisk
from tests.bookie.garbage.bookies import BOOKIE, INSTANCE, Store


class Counts:
    """What the collectors of all lives have done."""

    def __init__(self) -> None:
        self.moved = self.logs = 0


class WatchedStorage:
    """The storage of a bookie as its collector sees it; ``deleted`` is told which ledgers are gone."""

    def __init__(self, storage: StorageCollection, counts: Counts, deleted: Callable[[list[int]], None]) -> None:
        self._storage = storage
        self._counts = counts
        self._deleted = deleted

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def delete_ledgers(self, ledger_ids: list[int]) -> Deferred[list[int]]:
        def deleted(gone: list[int]) -> list[int]:
            self._deleted(gone)
            return gone

        return self._storage.delete_ledgers(ledger_ids).addCallback(deleted)

    def move(self, found: list[PlacedRun]) -> Deferred[Moved]:
        def moved(result: Moved) -> Moved:
            self._counts.moved += result.entry_count
            return result

        return self._storage.move(found).addCallback(moved)

    def delete_log(self, name: LogName) -> Deferred[None]:
        def deleted(_: None) -> None:
            self._counts.logs += 1

        return self._storage.delete_log(name).addCallback(deleted)


def start_collector(
    bookie: Bookie,
    disk: CrashingDisk,
    config: BookieConfig,
    clock: Any,
    worker: Any,
    store: Store,
    counts: Counts,
    deleted: Callable[[list[int]], None],
) -> GarbageCollectors:
    """Start the collectors of a bookie that serves."""
    of_store: Any = store

    def collector_of(collection: StorageCollection, disks: HomeDisks) -> GarbageCollector:
        storage: Any = WatchedStorage(collection, counts, deleted)
        return GarbageCollector(clock, disk, config, of_store, storage, worker, disks, BOOKIE, INSTANCE, clock.seconds)

    collector = GarbageCollectors(list(map(collector_of, bookie.collections, bookie.disks.homes)))
    collector.start()
    return collector

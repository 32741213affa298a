"""The storages of several ledger directories behind the interface of one: each ledger is in that of its home.

So is Java's DbLedgerStorage.  The storages share journal, threads and memory, and nothing else: each has its entry
logs, its databases and its garbage collection, and the ledgers of a full or broken disk cannot go to another.
"""

from collections.abc import Callable, Container, Sequence
from typing import TypeAlias

from twisted.internet.defer import Deferred

from bookkeeper_tx.bookie.disk import Buffer
from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.memory_reads import MemoryReads
from bookkeeper_tx.bookie.storage.several import parts
from bookkeeper_tx.bookie.storage.several.flushes import SeveralFlushes, all_done
from bookkeeper_tx.bookie.storage.several.homes import check_homes, home_of
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.protocol.bookie.requests import OneAdd


class SeveralStorages:
    """As :class:`LedgerStorage`, of which each of ``directories`` has one, in the order of the configuration."""

    def __init__(self, storages: Sequence[LedgerStorage], directories: Sequence[str]) -> None:
        self.storages = storages
        """One for each directory."""
        self._directories = directories
        self.loader = parts.SeveralLoaders(self._home)
        self.find_reads = MemoryReads(
            self.loader.in_memory,
            lambda ledger_id: self._home(ledger_id).reads.used(ledger_id),
            parts.SeveralUnflushed(self._home),
            lambda ledger_id, entry_id: self._home(ledger_id).reads.read_ahead(ledger_id, entry_id),
        ).find
        self.replayed = parts.SeveralReplayed(storages, self._home)
        self.limbo = parts.SeveralLimbos(storages, self._home)
        self.lost_logs = parts.SeveralLostLogs(storages)
        self.scrub = parts.SeveralScrubs(self._home)
        self.collection = parts.SeveralCollections(storages, self._home)
        self._flushes = SeveralFlushes(storages)
        self.on_flush_wanted: Callable[[], None] = lambda: None
        self.on_drained: Callable[[], None] = lambda: None
        self.on_flush_failed_changed: Callable[[], None] = lambda: None
        for storage in storages:
            storage.on_flush_wanted = lambda: self.on_flush_wanted()
            storage.on_drained = lambda: self.on_drained()
            storage.on_flush_failed_changed = lambda: self.on_flush_failed_changed()

    def start(self) -> None:
        for storage in self.storages:
            storage.open()
        for at, storage in enumerate(self.storages):
            check_homes(storage.collection.ledger_ids(), at, self._directories)
        for storage in self.storages:
            storage.clean_up()

    def stop(self) -> Deferred[None]:
        return Deferred.fromCoroutine(all_done([storage.stop() for storage in self.storages]))

    def _home(self, ledger_id: int) -> LedgerStorage:
        return self.storages[home_of(ledger_id, len(self.storages))]

    # Ledgers ---------------------------------------------------------------------------------------------------------

    def ledger(self, ledger_id: int) -> Ledger | None:
        return self._home(ledger_id).ledger(ledger_id)

    def open_for(self, ledger_id: int, master_key: bytes, ordinary: bool = False) -> tuple[Ledger, bool]:
        return self._home(ledger_id).open_for(ledger_id, master_key, ordinary)

    def fence(self, ledger: Ledger) -> bool:
        return self._home(ledger.ledger_id).fence(ledger)

    def set_explicit_lac(self, ledger: Ledger, body: bytes) -> None:
        self._home(ledger.ledger_id).set_explicit_lac(ledger, body)

    # Entries ---------------------------------------------------------------------------------------------------------

    def add(self, ledger: Ledger, run: EntryRun) -> list[Buffer]:
        return self._home(ledger.ledger_id).add(ledger, run)

    def add_record(self, ledger: Ledger, entry_id: int, last_add_confirmed: int, record: bytes) -> Sequence[Buffer]:
        return self._home(ledger.ledger_id).add_record(ledger, entry_id, last_add_confirmed, record)

    def add_at_ends(self, adds: Sequence[OneAdd], excluded: Container[int], recovery: bool) -> Sequence[int]:
        count = len(self.storages)
        of_homes: list[list[int]] = [[] for _ in range(count)]
        for index, add in enumerate(adds):
            of_homes[home_of(add[0], count)].append(index)
        others: list[int] = []
        for storage, indexes in zip(self.storages, of_homes, strict=True):
            left = storage.add_at_ends([adds[index] for index in indexes], excluded, recovery) if indexes else ()
            others += [indexes[each] for each in left]
        return sorted(others)

    def replay(self, ledger: Ledger, run: EntryRun) -> None:
        self._home(ledger.ledger_id).replay(ledger, run)

    def cached_run(self, ledger_id: int, entry_id: int) -> EntryRun | None:
        return self._home(ledger_id).cached_run(ledger_id, entry_id)

    def unflushed_ranges(self, ledger_id: int) -> list[range]:
        return self._home(ledger_id).unflushed_ranges(ledger_id)

    def indexed_ranges(self, ledger_id: int, first_page: int, page_count: int) -> list[range]:
        return self._home(ledger_id).indexed_ranges(ledger_id, first_page, page_count)

    def next_indexed_page(self, ledger_id: int, page: int) -> int | None:
        return self._home(ledger_id).next_indexed_page(ledger_id, page)

    def load_run(self, ledger_id: int, entry_id: int) -> Deferred[EntryRun]:
        return self._home(ledger_id).load_run(ledger_id, entry_id)

    # Flush -----------------------------------------------------------------------------------------------------------

    @property
    def full(self) -> bool:
        """Whether the write cache of one of them is: requests for its ledgers are not told from others."""
        return any(storage.full for storage in self.storages)

    @property
    def disk_full(self) -> bool:
        return any(storage.disk_full for storage in self.storages)

    @property
    def write_cache_bytes(self) -> tuple[int, int]:
        used, most = zip(*(storage.write_cache_bytes for storage in self.storages), strict=True)
        return sum(used), sum(most)

    @property
    def read_cache_bytes(self) -> int:
        return sum(storage.read_cache_bytes for storage in self.storages)

    @property
    def load_count(self) -> int:
        return sum(storage.load_count for storage in self.storages)

    @property
    def ledger_count(self) -> int:
        return sum(storage.ledger_count for storage in self.storages)

    @property
    def entry_count(self) -> int | None:
        counts = [storage.entry_count for storage in self.storages]
        known = [count for count in counts if count is not None]
        return sum(known) if len(known) == len(counts) else None

    @property
    def flush_failed(self) -> bool:
        return any(storage.flush_failed for storage in self.storages)

    @property
    def holds_mark(self) -> bool:
        return any(storage.holds_mark for storage in self.storages)

    @property
    def dirty(self) -> bool:
        return any(storage.dirty for storage in self.storages)

    def flush(self, mark_of: Callable[[], LogMark]) -> Deferred[LogMark]:
        return self._flushes.run(mark_of)

    def give_up_flush(self) -> None:
        for storage in self.storages:
            storage.give_up_flush()

    def flush_now(self) -> None:
        failures: list[OSError] = []
        for storage in self.storages:
            try:
                storage.flush_now()
            except OSError as error:
                failures.append(error)
        if failures:
            raise failures[0]


AnyStorage: TypeAlias = LedgerStorage | SeveralStorages


def storages_of(storage: AnyStorage) -> Sequence[LedgerStorage]:
    """Return the storages of the ledger directories that have one each; else the one of all of them."""
    return storage.storages if isinstance(storage, SeveralStorages) else [storage]

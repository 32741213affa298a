"""The parts of several storages, with the interfaces of those of one.

A call that is of one ledger goes to the storage that has it: ``Home`` gives that.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from twisted.internet.defer import Deferred

from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.limbo import Change
from bookkeeper_tx.bookie.storage.scrub import Looked
from bookkeeper_tx.bookie.storage.write_cache import LedgerRuns

Home: TypeAlias = Callable[[int], LedgerStorage]


class SeveralLoaders:
    """As :class:`~bookkeeper_tx.bookie.storage.ledger_loader.LedgerLoader`."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def knows(self, ledger_id: int) -> bool:
        return self._home(ledger_id).loader.knows(ledger_id)

    def in_memory(self, ledger_id: int) -> Ledger | None:
        return self._home(ledger_id).loader.in_memory(ledger_id)

    def load(self, ledger_id: int) -> Deferred[object]:
        return self._home(ledger_id).loader.load(ledger_id)

    def is_loaded(self, ledger_id: int) -> bool:
        return self._home(ledger_id).loader.is_loaded(ledger_id)

    def is_ready_for_add(self, ledger_id: int, first_entry_id: int, last_entry_id: int) -> bool:
        return self._home(ledger_id).loader.is_ready_for_add(ledger_id, first_entry_id, last_entry_id)

    def is_loaded_for_add(self, ledger_id: int, first_entry_id: int, last_entry_id: int) -> bool:
        return self._home(ledger_id).loader.is_loaded_for_add(ledger_id, first_entry_id, last_entry_id)

    def load_for_add(self, ledger_id: int, first_entry_id: int, last_entry_id: int) -> Deferred[object]:
        return self._home(ledger_id).loader.load_for_add(ledger_id, first_entry_id, last_entry_id)


class SeveralUnflushed:
    """The write caches, as :class:`~bookkeeper_tx.bookie.storage.memory_reads.MemoryReads` looks at them."""

    def __init__(self, home: Home) -> None:
        self._home = home

    @property
    def finders(self) -> Sequence[Callable[[int], LedgerRuns | None]]:
        return self._active, self._flushing

    def _active(self, ledger_id: int) -> LedgerRuns | None:
        return self._home(ledger_id).reads.write_caches.finders[0](ledger_id)

    def _flushing(self, ledger_id: int) -> LedgerRuns | None:
        _, *flushing = self._home(ledger_id).reads.write_caches.finders
        return flushing[0](ledger_id) if flushing else None


class SeveralReplayed:
    """As :class:`~bookkeeper_tx.bookie.storage.replayed_ledgers.ReplayedLedgers`."""

    def __init__(self, storages: Sequence[LedgerStorage], home: Home) -> None:
        self._storages = storages
        self._home = home

    def check_deleted(self, ledger_id: int) -> None:
        self._home(ledger_id).replayed.check_deleted(ledger_id)

    def delete(self, ledger_id: int) -> None:
        self._home(ledger_id).replayed.delete(ledger_id)

    def doubt(self, ledger: Ledger) -> None:
        self._home(ledger.ledger_id).replayed.doubt(ledger)

    def end(self) -> None:
        for storage in self._storages:
            storage.replayed.end()

    @property
    def room_bytes(self) -> int:
        """The sum: a journal may be full of entries of one directory."""
        return sum(storage.replayed.room_bytes for storage in self._storages)


class SeveralLimbos:
    """As :class:`~bookkeeper_tx.bookie.storage.limbo.Limbo`.

    Whether entries may be missing is noted in each; Java looks in the first.
    """

    def __init__(self, storages: Sequence[LedgerStorage], home: Home) -> None:
        self._storages = storages
        self._home = home

    def needs_check(self) -> bool:
        return any(storage.limbo.needs_check() for storage in self._storages)

    def set_needs_check(self, needed: bool) -> None:
        # In the first while it is in any of them: a crash may come in between, and Java's bookie after it.
        for storage in self._storages if needed else reversed(self._storages):
            storage.limbo.set_needs_check(needed)

    def enter(self, ledger: Ledger, fenced: bool) -> None:
        self._home(ledger.ledger_id).limbo.enter(ledger, fenced)

    def leave(self, ledger: Ledger) -> None:
        self._home(ledger.ledger_id).limbo.leave(ledger)

    @property
    def last_change(self) -> Change:
        return tuple(each for storage in self._storages for each in storage.limbo.last_change)

    def is_durable(self, change: Change) -> bool:
        return all(storage.limbo.is_durable((each,)) for storage, each in zip(self._storages, change, strict=True))


class SeveralLostLogs:
    """As :class:`~bookkeeper_tx.bookie.storage.lost_logs.LostLogs`, before the start."""

    def __init__(self, storages: Sequence[LedgerStorage]) -> None:
        self._storages = storages

    @property
    def possible(self) -> bool:
        return any(storage.lost_logs.possible for storage in self._storages)

    @possible.setter
    def possible(self, possible: bool) -> None:
        for storage in self._storages:
            storage.lost_logs.possible = possible


class SeveralScrubs:
    """As :class:`~bookkeeper_tx.bookie.storage.scrub.Scrub`."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def look(self, ledger_id: int, first_id: int, count_max: int) -> Looked:
        return self._home(ledger_id).scrub.look(ledger_id, first_id, count_max)


class SeveralCollections:
    """Which ledgers are here, as :class:`~bookkeeper_tx.bookie.storage.collection.StorageCollection` tells it.

    Garbage is collected in each of them by itself.
    """

    def __init__(self, storages: Sequence[LedgerStorage], home: Home) -> None:
        self._storages = storages
        self._home = home

    def ledger_ids(self) -> Iterator[int]:
        return heapq.merge(*(storage.collection.ledger_ids() for storage in self._storages))

    def has_ledger(self, ledger_id: int) -> bool:
        return self._home(ledger_id).collection.has_ledger(ledger_id)

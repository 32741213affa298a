"""What a garbage collector works on: a storage on a disk in memory, and a metadata store that says what it is told."""

from collections.abc import Callable, Iterable
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock

from bookkeeper_tx.bookie.disks import BookieDisks
from bookkeeper_tx.bookie.garbage.collector import GarbageCollector
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import NoSuchLedger
from bookkeeper_tx.model import DigestType, Fragment, LedgerMetadata, LedgerState, Versioned
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import KEY, run_of
from tests.bookie.storage.storages import add, flush, new_storage
from tests.bookie.workers import InlineWorker
from tests.conftest import result_of

BOOKIE = "a:1"
INSTANCE = "an instance"
TIME_S = 1_700_000_000.0
OPEN = LedgerMetadata(1, 1, 1, [Fragment(0, (BOOKIE,))], DigestType.CRC32C, b"pw")
ELSEWHERE = evolve(OPEN, fragments=[Fragment(0, ("b:1",))], state=LedgerState.CLOSED, last_entry_id=0, length=1)


SMALL = {
    "entry_log_bytes_max": 3600,
    "gc_wait_s": 10.0,
    "gc_metadata_rate": 10**9,
    "compaction_rate_entries": 10**9,
}


class Store:
    """A metadata store: ``ledgers`` are there, ``listed`` is what it lists, all of them by default."""

    def __init__(self) -> None:
        self.ledgers: dict[int, LedgerMetadata] = {}
        self.listed: list[int] | None = None
        self.error: Exception | None = None
        """What every request fails with."""
        self.read_error: Exception | None = None
        """What looking up a ledger fails with."""
        self.instance: str | None = INSTANCE
        self.cookie: tuple[bytes, int] | None = (b"cookie", 0)
        self.locked: set[int] = set()
        """Ledgers that others have locked."""
        self.calls: list[Any] = []
        self.on_lock: Callable[[], None] = lambda: None

    def list_ledgers(self, scope_id: int | None = 0) -> Deferred[list[int]]:
        assert scope_id is None
        self.calls.append("list")
        return self._answer(sorted(self.ledgers) if self.listed is None else self.listed)

    def instance_id(self) -> Deferred[str | None]:
        return self._answer(self.instance)

    def read_cookie(self, bookie_id: str) -> Deferred[Any]:
        assert bookie_id == BOOKIE
        return self._answer(self.cookie)

    def read_ledger(self, ledger_id: int) -> Deferred[Versioned]:
        self.calls.append(("read", ledger_id))
        return self._read(ledger_id)

    def _read(self, ledger_id: int) -> Deferred[Versioned]:
        if self.read_error is not None:
            return fail(self.read_error)
        if ledger_id not in self.ledgers:
            return fail(NoSuchLedger())
        return self._answer(Versioned(self.ledgers[ledger_id], 0))

    def read_latest_ledger(self, ledger_id: int) -> Deferred[Versioned]:
        self.calls.append(("read latest", ledger_id))
        return self._read(ledger_id)

    def lock_replication(self, ledger_id: int, bookie_id: str) -> Deferred[bool]:
        assert bookie_id == BOOKIE
        self.calls.append(("lock", ledger_id))
        self.on_lock()
        return self._answer(ledger_id not in self.locked)

    def unlock_replication(self, ledger_id: int) -> Deferred[None]:
        self.calls.append(("unlock", ledger_id))
        return self._answer(None)

    def _answer(self, value: Any) -> Deferred[Any]:
        return succeed(value) if self.error is None else fail(self.error)


class Bench:
    """A storage of ledgers, a store, and a collector over both."""

    def __init__(self, disk: CrashingDisk, **config: Any) -> None:
        config = {"entry_log_free_bytes_min": 0, "index_file_free_bytes_min": 0, **SMALL, **config}
        self.disk = disk
        self.config = BookieConfig(metadata_uri="", journal_directory=DIRECTORY, ledger_directory=DIRECTORY, **config)
        self.store, self.clock = Store(), Clock()
        self.disks = BookieDisks(disk, [], [DIRECTORY], [DIRECTORY], self.config).homes[0]
        self.storage: LedgerStorage = new_storage(
            disk, DIRECTORY, entry_log_bytes_max=self.config.entry_log_bytes_max, read_cache_bytes_max=1
        )
        self.worker: Any = InlineWorker()
        self.collector = self.new_collector()

    def new_collector(self, **arguments: Any) -> GarbageCollector:
        store: Any = self.store
        return GarbageCollector(
            self.clock,
            self.disk,
            self.config,
            store,
            self.storage.collection,
            self.worker,
            self.disks,
            BOOKIE,
            INSTANCE,
            lambda: TIME_S + self.clock.seconds(),
            **arguments,
        )

    def look(self, free: float) -> None:
        """Have the collector know that so much of the disk is free, from 0 to 1."""
        (space,) = self.disks.ledgers.spaces.values()
        space.look(100_000, round(100_000 * free))

    def stored(self, ledger_id: int, *sizes: int, first: int = 0, metadata: LedgerMetadata = OPEN) -> None:
        """Have a ledger, here and in the store, with entries of these sizes, flushed."""
        self.storage.open_for(ledger_id, KEY)
        add(self.storage, run_of(first, *sizes, ledger_id=ledger_id))
        flush(self.storage)
        self.store.ledgers[ledger_id] = metadata

    def delete(self, *ledger_ids: int) -> None:
        """Delete ledgers as clients do: their metadata."""
        for ledger_id in ledger_ids:
            del self.store.ledgers[ledger_id]

    def collect(self, major: bool | None = False, minor: bool | None = False) -> None:
        """Collect now, without compaction unless it is asked for."""
        result_of(self.collector.force(major, minor))

    def wait(self, seconds: float) -> None:
        self.clock.pump([0.5] * int(2 * seconds))

    @property
    def here(self) -> list[int]:
        return list(self.storage.collection.ledger_ids())

    @property
    def logs(self) -> list[str]:
        return [name for name in self.disk.list_directory(DIRECTORY) if ".log" in name]

    def entries(self, ledger_id: int, ids: Iterable[int]) -> list[bytes]:
        from tests.bookie.storage.storages import read

        return [read(self.storage, ledger_id, each) for each in ids]


def with_two_logs(disk: CrashingDisk) -> Bench:
    """Return a bookie with a log of ledgers 1 and 2, and one of 3."""
    bench = Bench(disk)
    bench.stored(1, 1000)
    bench.stored(2, 1000)
    bench.stored(3, 2000)
    return bench


def without_index(before: Bench, *ledger_ids: int) -> Bench:
    """Return the bookie after a restart, before which index files were lost."""
    result_of(before.storage.stop())
    for ledger_id in ledger_ids:
        before.disk.remove(f"{DIRECTORY}/0/{ledger_id}/{ledger_id}.idx")
    after = Bench(before.disk)
    after.store.ledgers = before.store.ledgers
    return after

"""One run of a class of ledger storage by itself, without network: adds, a start, cold reads, compaction, replay."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

from attrs import frozen
from twisted.internet.defer import Deferred

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.at_start import JournalsAtStart
from bookkeeper_tx.bookie.journal.last_mark import BEGINNING, LogMark
from bookkeeper_tx.bookie.service import READ_THREADS
from bookkeeper_tx.bookie.space import LedgerDisks
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.bookie.storage.replay_sink import StorageSink
from bookkeeper_tx.cli.bench.storage_upkeep import compact, finished_logs, write_journal
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.model import DigestType
from bookkeeper_tx.threads.worker import Worker

MARK: Final = LogMark(1, 512)
DIGEST: Final = EntryDigest(DigestType.DUMMY, b"")


@frozen
class StorageLoad:
    """What is stored, and how it is read."""

    entries: int
    ledgers: int
    size: int
    """Payload bytes of an entry."""
    run: int
    """Entries of a ledger that come together; the ledgers take turns."""
    random_reads: int
    """Entries read one by one, of any ledger."""

    @property
    def of_each(self) -> int:
        """Entries of each ledger."""
        return max(self.entries // self.ledgers, 1)


class StorageRun:
    """A storage of one class in a directory of its own, which is removed afterwards."""

    def __init__(self, reactor: Any, directory: Path, storage_class: str, load: StorageLoad) -> None:
        self._reactor = reactor
        self._load = load
        self._directory = directory
        path = str(directory)
        self._config = BookieConfig(
            metadata_uri="", journal_directory=path, ledger_directory=path, ledger_storage_class=storage_class
        )
        self._flush_worker = Worker(reactor, "flush")
        self._read_worker = Worker(reactor, "read", READ_THREADS)
        self.measured: dict[str, dict[str, float]] = {}
        """Per workload: wall seconds, µs of CPU (all threads) an operation, and operations a second."""
        self.slowest_add_s = 0.0
        """The longest that an add had to wait for room."""
        self._making_s = 0.0
        """CPU that making entries took, which is no part of what is measured."""

    async def measure(self) -> None:
        """Run all of it."""
        self._directory.mkdir()
        try:
            storage = self._opened()
            with self._measuring("adds", self._load.of_each * self._load.ledgers):
                await self._add(storage)
            with self._measuring("stop", 1):
                await storage.stop()
            with self._measuring("start", 1):
                storage = self._opened()
            with self._measuring("cold_sequential_reads", self._load.of_each * self._load.ledgers):
                await self._read_all(storage)
            await storage.stop()
            storage = self._opened()
            with self._measuring("cold_random_reads", self._load.random_reads):
                await self._read_any(storage)
            await storage.stop()
            await self._keep_up()
        finally:
            await self._flush_worker.stop()
            await self._read_worker.stop()
            shutil.rmtree(self._directory, ignore_errors=True)

    async def _keep_up(self) -> None:
        """Compact, once every other ledger is deleted, and replay a journal of the same entries."""
        disk, load, ledgers = Disk(), self._load, range(self._load.ledgers)
        storage = self._opened()
        deleted = await storage.collection.delete_ledgers(ledgers[:-1:2])
        kept = load.of_each * (load.ledgers - len(deleted))
        logs = await finished_logs(disk, storage, self._read_worker)
        with self._measuring("compaction", kept):
            moved = await compact(self._reactor, disk, storage, self._read_worker, self._config, logs)
        assert moved == kept
        await storage.stop()
        shutil.rmtree(self._directory)
        self._directory.mkdir()
        runs = (self._run_of(each, first) for first in range(0, load.of_each, load.run) for each in ledgers)
        path = str(self._directory)
        await write_journal(disk, path, self._config, self._flush_worker, DIGEST.master_key, runs)
        with self._measuring("replay", load.of_each * load.ledgers):
            replayed = []
            journals = JournalsAtStart(disk, [path], [path])
            storage = self._opened(lambda sink: replayed.append(journals.replay(BEGINNING, sink, False)))
        assert [each.entry_count for each in replayed] == [load.of_each * load.ledgers]
        await storage.stop()

    def _opened(self, fill: Callable[[StorageSink], object] = lambda sink: None) -> LedgerStorage:
        disk = Disk()
        disks = LedgerDisks(disk, [str(self._directory)], self._config)
        storage = LedgerStorage(disk, disks, self._config, self._flush_worker, self._read_worker)
        storage.start()
        sink = StorageSink(storage)
        fill(sink)
        sink.finish()
        return storage

    @contextmanager
    def _measuring(self, name: str, count: int) -> Iterator[None]:
        wall, cpu, self._making_s = time.perf_counter(), time.process_time(), 0.0
        yield
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu - self._making_s
        figures = {"wall_s": wall, "cpu_us": cpu / count * 1e6, "per_s": count / wall}
        self.measured[name] = {key: float(f"{value:.4g}") for key, value in figures.items()}

    async def _add(self, storage: LedgerStorage) -> None:
        flushing: list[Deferred[LogMark]] = []

        def flush() -> None:
            flushing.append(storage.flush(lambda: MARK))

        storage.on_flush_wanted = flush
        for first in range(0, self._load.of_each, self._load.run):
            for ledger_id in range(self._load.ledgers):
                await self._room(storage)
                ledger, _ = storage.open_for(ledger_id, DIGEST.master_key)
                storage.add(ledger, self._run_of(ledger_id, first))
        for each in flushing:
            await each
        await storage.flush(lambda: MARK)

    async def _room(self, storage: LedgerStorage) -> None:
        if storage.full:
            started = time.perf_counter()
            drained: Deferred[None] = Deferred()
            storage.on_drained = lambda: drained.callback(None)
            await drained
            self.slowest_add_s = max(self.slowest_add_s, time.perf_counter() - started)

    def _run_of(self, ledger_id: int, first: int) -> EntryRun:
        started = time.thread_time()
        count = min(self._load.run, self._load.of_each - first)
        payload = b"x" * self._load.size
        sealed = [
            DIGEST.seal(ledger_id, entry_id, entry_id - 1, (entry_id + 1) * self._load.size, payload)
            for entry_id in range(first, first + count)
        ]
        made = EntryRun.of_entries(ledger_id, first, sealed)
        self._making_s += time.thread_time() - started
        return made

    async def _read_all(self, storage: LedgerStorage) -> None:
        for ledger_id in range(self._load.ledgers):
            held = await storage.loader.load(ledger_id)
            entry_id = 0
            while entry_id < self._load.of_each:
                run = await storage.load_run(ledger_id, entry_id)
                entry_id = run.last_entry_id + 1
            del held

    async def _read_any(self, storage: LedgerStorage) -> None:
        random = Random(1)
        for _ in range(self._load.random_reads):
            ledger_id, entry_id = random.randrange(self._load.ledgers), random.randrange(self._load.of_each)
            held = await storage.loader.load(ledger_id)
            assert entry_id in await storage.load_run(ledger_id, entry_id)
            del held

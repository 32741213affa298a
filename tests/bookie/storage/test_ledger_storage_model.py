"""Random operations, failing disks and power cuts against a model: a dictionary, and a journal that loses nothing."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.bookie.storage.replay_sink import StorageSink
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import NoSuchEntry, Unauthorized
from protocol_specs.entry.version import explicit_lac_of
from protocol_specs.fields import NO_ENTRY
from protocol_specs.ledger_id import join
from tests.bookie.crashing_disk import DIRECTORY, CrashingDisk
from tests.bookie.seams import KEY, OTHER_KEY, SCOPED, entry
from tests.bookie.storage.several.several_storages import SECOND, several_storages
from tests.bookie.storage.storages import add, explicit_lac, new_storage, read
from tests.conftest import result_of
from tests.sampling import examples

LEDGERS = [0, 5, 0x12345, SCOPED, join(5, 0)]
LIMITS: Any = {
    "entry_log_bytes_max": 6000,
    "index_pages_max": 0.1,  # two short ones
    "open_index_files_max": 2,
    "read_cache_bytes_max": 4000,
}


class Bookie:
    """A storage with a list as its journal: an operation is acknowledged once it is in the list."""

    def __init__(self, seed: int = 0, ledger_storage_class: str = "SortedLedgerStorage", apart: bool = False) -> None:
        """``apart``: in two directories, each with a storage of its own."""
        self.ledger_storage_class = ledger_storage_class
        self.apart = apart
        self.disk = CrashingDisk(seed)
        self.disk.caches = seed % 2 == 0
        self.disk.make_directories(DIRECTORY)
        self.disk.make_directories(SECOND)
        self.journal: list[tuple[str, tuple[Any, ...]]] = []
        self.mark = 0
        self.entries: dict[tuple[int, int], bytes] = {}
        self.fenced: set[int] = set()
        self.explicit_lacs: dict[int, bytes] = {}
        self.known: set[int] = set()
        self.storage = self.new_storage()

    def new_storage(self, write_cache_bytes_max: int = 64 << 20) -> AnyStorage:
        settings = LIMITS | {"write_cache_bytes_max": write_cache_bytes_max}
        storage: AnyStorage
        if self.apart:
            storage = several_storages(self.disk, serving=False, slice_count=2, **settings)
        else:
            settings |= {"ledger_storage_class": self.ledger_storage_class}
            storage = new_storage(self.disk, DIRECTORY, serving=False, slice_count=2, **settings)
        sink = StorageSink(storage)
        for name, arguments in self.journal[self.mark :]:
            getattr(sink, name)(*arguments)
        sink.finish()
        return storage

    def open(self, ledger_id: int) -> Any:
        ledger, created = self.storage.open_for(ledger_id, KEY)
        assert created == (ledger_id not in self.known)
        if created:
            self.journal.append(("key", (ledger_id, KEY)))
            self.known.add(ledger_id)
        return ledger

    def add(self, ledger_id: int, first: int, sizes: list[int]) -> None:
        self.open(ledger_id)
        entries = [entry(first + at, size, ledger_id) for at, size in enumerate(sizes)]
        entries = [self.entries.get((ledger_id, first + at), each) for at, each in enumerate(entries)]
        run = EntryRun.of_entries(ledger_id, first, entries)
        add(self.storage, run)
        self.journal.append(("entries", (run,)))
        self.entries.update({(ledger_id, first + at): each for at, each in enumerate(entries)})

    def fence(self, ledger_id: int) -> None:
        assert self.storage.fence(self.open(ledger_id)) == (ledger_id not in self.fenced)
        self.fenced.add(ledger_id)
        self.journal.append(("fence", (ledger_id,)))

    def set_explicit_lac(self, ledger_id: int, body: bytes) -> None:
        self.storage.set_explicit_lac(self.open(ledger_id), body)
        self.journal.append(("explicit_lac", (ledger_id, body)))
        if explicit_lac_of(body)[1] >= explicit_lac_of(self.explicit_lacs.get(ledger_id, body))[1]:
            self.explicit_lacs[ledger_id] = body

    def flush(self) -> bool:
        """Flush; returns whether it succeeded."""
        outcome: list[Any] = []
        flushing = self.storage.flush(lambda: LogMark(1, len(self.journal)))
        flushing.addCallbacks(outcome.append, lambda _: None)
        if outcome:
            self.mark = outcome[0].offset
        return bool(outcome)

    def restart(self, **limits: int) -> None:
        self.storage = self.new_storage(**limits)

    def check(self) -> None:
        for ledger_id in LEDGERS:
            ledger = self.storage.ledger(ledger_id)
            assert (ledger is not None) == (ledger_id in self.known)
            if ledger is None:
                continue
            stored = {entry_id: each for (owner, entry_id), each in self.entries.items() if owner == ledger_id}
            assert ledger.master_key == KEY
            assert ledger.fenced == (ledger_id in self.fenced)
            assert ledger.explicit_lac == self.explicit_lacs.get(ledger_id)
            assert ledger.last_entry_id == max(stored, default=NO_ENTRY)
            confirmed = [ledger.last_entry_id - 1] if stored else []
            confirmed += [explicit_lac_of(body)[1] for body in filter(None, [ledger.explicit_lac])]
            assert ledger.last_add_confirmed == max(confirmed, default=NO_ENTRY)
            for entry_id, each in stored.items():
                assert read(self.storage, ledger_id, entry_id) == each
            for absent in ({*range(40), 2000} - set(stored)) | {ledger.last_entry_id + 1}:
                with pytest.raises(NoSuchEntry):
                    read(self.storage, ledger_id, absent)


class StorageMachine(RuleBasedStateMachine):
    ledger_ids = st.sampled_from(LEDGERS)
    ledger_storage_class = "SortedLedgerStorage"
    apart = False
    sizes = st.lists(st.one_of(st.integers(33, 200), st.just(41), st.just(3000)), min_size=1, max_size=12)

    @initialize(seed=st.integers(0, 2**32))
    def begin(self, seed: int) -> None:
        self.bookie = Bookie(seed, self.ledger_storage_class, self.apart)

    @rule(ledger_id=ledger_ids, first=st.one_of(st.integers(0, 30), st.integers(1018, 1030)), sizes=sizes)
    def add(self, ledger_id: int, first: int, sizes: list[int]) -> None:
        self.bookie.add(ledger_id, first, sizes)

    @rule(ledger_id=ledger_ids, sizes=sizes)
    def append(self, ledger_id: int, sizes: list[int]) -> None:
        ledger = self.bookie.open(ledger_id)
        self.bookie.add(ledger_id, ledger.last_entry_id + 1, sizes)

    @rule(ledger_id=ledger_ids)
    def fence(self, ledger_id: int) -> None:
        self.bookie.fence(ledger_id)

    @rule(ledger_id=ledger_ids, lac=st.integers(0, 50), digest_size=st.sampled_from([0, 4, 8, 20]))
    def set_explicit_lac(self, ledger_id: int, lac: int, digest_size: int) -> None:
        self.bookie.set_explicit_lac(ledger_id, explicit_lac(ledger_id, lac, digest_size))

    @rule()
    def flush(self) -> None:
        assert self.bookie.flush()
        assert not self.bookie.storage.dirty

    @rule(count=st.integers(1, 3))
    def fail_writes(self, count: int) -> None:
        self.bookie.disk.fail_writes(count)
        while not self.bookie.flush():
            self.bookie.check()
        self.bookie.disk.fail_writes(0)

    @rule(count=st.integers(1, 3))
    def fail_syncs(self, count: int) -> None:
        self.bookie.disk.fail_syncs(count)
        while not self.bookie.flush():
            self.bookie.check()
        self.bookie.disk.fail_syncs(0)

    @rule()
    def stop_and_start(self) -> None:
        self.bookie.flush()
        result_of(self.bookie.storage.stop())
        self.bookie.restart()

    @rule(small_cache=st.booleans())
    def lose_power(self, small_cache: bool) -> None:
        self.bookie.disk.crash()
        self.bookie.disk.restart()
        self.bookie.restart(**({"write_cache_bytes_max": 2000} if small_cache else {}))

    @rule(step=st.integers(0, 40))
    def lose_power_in_a_flush(self, step: int) -> None:
        self.bookie.disk.crash_at = step
        self.bookie.flush()
        self.bookie.disk.restart()
        self.bookie.restart()

    @precondition(lambda self: self.bookie.known)
    @rule()
    def offer_another_key(self) -> None:
        for ledger_id in self.bookie.known:
            with pytest.raises(Unauthorized):
                self.bookie.storage.open_for(ledger_id, OTHER_KEY)

    @invariant()
    def everything_is_there(self) -> None:
        self.bookie.check()


class DbStorageMachine(StorageMachine):
    ledger_storage_class = "DbLedgerStorage"


class SeveralDbStoragesMachine(StorageMachine):
    apart = True


TestStorageMachine = pytest.mark.slow(StorageMachine.TestCase)
TestDbStorageMachine = pytest.mark.slow(DbStorageMachine.TestCase)
TestSeveralDbStoragesMachine = pytest.mark.slow(SeveralDbStoragesMachine.TestCase)
TestStorageMachine.settings = TestDbStorageMachine.settings = TestSeveralDbStoragesMachine.settings = settings(
    max_examples=examples(60),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)

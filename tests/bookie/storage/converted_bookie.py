"""A bookie whose indexes are converted on a disk that fails: what it has before, it has afterwards."""

import copy
import random
from typing import Any, TypeAlias

import pytest
from attrs import field, frozen

from bookkeeper_tx.bookie.directories import CONVERSION_NAME, Directories
from bookkeeper_tx.bookie.storage.conversion import OTHER, ROCKSDB, Conversion
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage, storages_of
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import BookKeeperError, RefusedToStart
from protocol_specs.ledger_id import join
from tests.bookie.crashing_disk import CrashingDisk
from tests.bookie.seams import SCOPED, run_of
from tests.bookie.storage.several.several_storages import several_storages
from tests.bookie.storage.storages import add, explicit_lac, flush, new_storage, read
from tests.conftest import result_of

SCOPED_TOO = join(5, 2)
LEDGERS = (0, 5, 0x12345, SCOPED, SCOPED_TOO)
LONG = 5
"""A ledger whose locations are written in several batches."""
FAR_IDS = [first + at for first in (1500, 2600, 3600) for at in (0, 2, 4)]
"""Entries of it with gaps between them, in pages of their own."""
FENCED = (5, SCOPED)
WITH_LAC = (5, SCOPED_TOO)
EMPTY = 98
LIMBO, LIMBO_FENCED = 11, join(5, 3)
DELETED = (8, join(5, 4))
"""They had entries, and were fenced."""

ENTRY_SIZE = 60
SETTINGS: Any = {"entry_log_bytes_max": 4000, "data_integrity_checking": True}
CONFIG = BookieConfig(metadata_uri="", journal_directory="", ledger_directory="", entry_log_bytes_max=4000)

State: TypeAlias = dict[object, object]


@frozen
class Layout:
    """The directories of a bookie."""

    name: str
    ledgers: tuple[str, ...]
    """As they are configured."""
    indexes: tuple[str, ...] = ()

    @property
    def currents(self) -> list[str]:
        return [f"{each}/current" for each in self.ledgers]

    @property
    def index_currents(self) -> list[str]:
        return [f"{each}/current" for each in self.indexes or self.ledgers]


LAYOUTS = [
    Layout("one directory", ("/data",)),
    Layout("one and one of indexes", ("/data",), ("/index",)),
    Layout("two directories", ("/data", "/second")),
    Layout("two and two of indexes", ("/data", "/second"), ("/index", "/other")),
]


def key_of(ledger_id: int) -> bytes:
    return (ledger_id % 251).to_bytes(1, "big") * 20


@frozen
class ConvertedBookie:
    """The bookie, and what is to be stored there."""

    layout: Layout
    to: str
    filled: CrashingDisk = field(init=False, repr=False)
    """Its disk before the conversion."""
    stored: State = field(init=False, repr=False)

    @filled.default
    def _fill(self) -> CrashingDisk:
        disk = CrashingDisk()
        for each in (*self.layout.currents, *self.layout.index_currents):
            disk.make_directories(each)
        storage = self._opened(disk, OTHER[self.to])
        for ledger_id in (*LEDGERS, EMPTY, LIMBO, LIMBO_FENCED, *DELETED):
            storage.open_for(ledger_id, key_of(ledger_id))
        for first in (0, 10):
            for ledger_id in (*LEDGERS, LIMBO, *DELETED):
                add(storage, run_of(first, *[ENTRY_SIZE] * 10, ledger_id=ledger_id))
            flush(storage)
        for entry_id in FAR_IDS:
            add(storage, run_of(entry_id, ENTRY_SIZE, ledger_id=LONG))
        for ledger_id in (*FENCED, *DELETED):
            ledger = storage.ledger(ledger_id)
            assert ledger is not None
            storage.fence(ledger)
        for ledger_id in WITH_LAC:
            ledger = storage.ledger(ledger_id)
            assert ledger is not None
            storage.set_explicit_lac(ledger, explicit_lac(ledger_id, 7, 4))
        for ledger_id in (LIMBO, LIMBO_FENCED):
            ledger = storage.ledger(ledger_id)
            assert ledger is not None
            storage.limbo.enter(ledger, fenced=ledger_id == LIMBO_FENCED)
        storage.limbo.set_needs_check(True)
        flush(storage)
        for each in storages_of(storage):
            result_of(each.collection.delete_ledgers(DELETED))
        result_of(storage.stop())
        disk.crash()
        disk.restart()
        return disk

    @stored.default
    def _store(self) -> State:
        return self.state(copy.deepcopy(self.filled), OTHER[self.to])

    def disk(self, seed: int) -> CrashingDisk:
        """Return a disk of its own with what is there before the conversion."""
        disk = copy.deepcopy(self.filled)
        disk.random = random.Random(seed)
        random.seed(seed)  # the directory of a new index file is picked by chance
        return disk

    def convert(self, disk: CrashingDisk) -> None:
        layout = self.layout
        Conversion(disk, layout.currents, self.to, CONFIG, indexes=layout.index_currents).run()

    def state(self, disk: CrashingDisk, name: str) -> State:
        """Return what a bookie with that class of storage answers."""
        storage = self._opened(disk, name)
        found: State = {"needs check": storage.limbo.needs_check()}
        for ledger_id in (*LEDGERS, EMPTY, LIMBO, LIMBO_FENCED, *DELETED):
            ledger = storage.ledger(ledger_id)
            if ledger is None:
                found[ledger_id] = self._answer(storage.open_for, ledger_id, key_of(ledger_id), ordinary=True)
                continue
            state = ledger.master_key, ledger.fenced, ledger.limbo, ledger.explicit_lac, ledger.last_entry_id
            stored = storage.indexed_ranges(ledger_id, 0, 9)
            ids = (*range(-1, 21), *FAR_IDS, FAR_IDS[0] + 1)
            found[ledger_id] = state, stored, [self._answer(read, storage, ledger_id, each) for each in ids]
        result_of(storage.stop())
        return found

    def check(self, disk: CrashingDisk, name: str) -> None:
        """A bookie with that class of storage starts, and has all; one with the other does not start."""
        assert not self.is_half(disk)
        assert self.state(disk, name) == self.stored
        self.start(disk, name)
        with pytest.raises(RefusedToStart, match="was written by"):
            self.start(disk, OTHER[name])

    def start(self, disk: CrashingDisk, name: str) -> None:
        """Do what a bookie does first, and stop it."""
        first, *more = self.layout.ledgers
        directories = Directories(disk, first, first, name, more_ledgers=more, indexes=self.layout.indexes)
        directories.open()
        directories.close()

    def is_half(self, disk: CrashingDisk) -> bool:
        return any(disk.exists(f"{each}/{CONVERSION_NAME}") for each in self.layout.currents)

    def check_after_fault(self, disk: CrashingDisk) -> bool:
        """Either class serves all, or none starts; return whether the conversion is to be run once more."""
        if self.is_half(disk):
            for name in (self.to, OTHER[self.to]):
                with pytest.raises(RefusedToStart, match="a conversion of the indexes is not finished; begin it again"):
                    self.start(disk, name)
            return True
        try:
            self.start(disk, self.to)
        except RefusedToStart:
            self.check(disk, OTHER[self.to])
            return True
        self.check(disk, self.to)
        return False

    def check_end(self, disk: CrashingDisk) -> None:
        """All is there after a power cut, which may bring back that the conversion has ended."""
        disk.crash()
        disk.restart()
        if self.check_after_fault(disk):
            self.convert(disk)
        self.check(disk, self.to)

    def _opened(self, disk: CrashingDisk, name: str) -> AnyStorage:
        layout = self.layout
        if name == ROCKSDB and len(layout.ledgers) > 1:
            return several_storages(disk, layout.currents, indexes=layout.index_currents, **SETTINGS)
        settings = {"ledger_storage_class": name, **SETTINGS}
        indexes = layout.index_currents if layout.indexes else ()
        return new_storage(disk, layout.currents[0], more=layout.currents[1:], indexes=indexes, **settings)

    @staticmethod
    def _answer(call: Any, *arguments: Any, **keywords: Any) -> object:
        try:
            return call(*arguments, **keywords)
        except BookKeeperError as error:
            return type(error)

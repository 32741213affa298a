"""Conversion of the indexes in a directory from one class of ledger storage to another, both ways.

    NONE --begin--> COPYING --all is the same in both--> REMOVING what it was made from --all gone--> NONE

A file in the directory has the state, durably before anything else is changed, and no bookie of ours starts while it is
there.  So a conversion that was interrupted is begun again, and finds what is done already.  Journal, entry logs and
mark are the same for all classes, and stay as they are.
"""

import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Final

from attrs import evolve

from bookkeeper_tx.bookie.directories import CONVERSION_NAME
from bookkeeper_tx.bookie.disk import Disk, remove_durably
from bookkeeper_tx.bookie.space import LedgerDisks
from bookkeeper_tx.bookie.storage.entry_log import PlacedRun
from bookkeeper_tx.bookie.storage.flush import SLICE_COUNT
from bookkeeper_tx.bookie.storage.index_writer import IndexChange
from bookkeeper_tx.bookie.storage.indexes import Indexes
from bookkeeper_tx.bookie.storage.ledger_index import LedgerIndexes, Page
from bookkeeper_tx.bookie.storage.storage_class import indexes_of
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import RefusedToStart, StorageFailed
from bookkeeper_tx.model import ledger_name
from protocol_specs.disk import db_index, ledger_index
from protocol_specs.disk.entry_log import NO_LOCATION
from protocol_specs.disk.ledger_index import PAGE_COUNT

INDEX_FILES: Final = "SortedLedgerStorage"
ROCKSDB: Final = "DbLedgerStorage"
OTHER: Final = {INDEX_FILES: ROCKSDB, ROCKSDB: INDEX_FILES}

COPYING: Final = "copying"
REMOVING: Final = "removing"

BATCH_PAGES: Final = 1024
"""Pages written together, of one ledger or of many: 8 MiB of locations."""

DATABASES: Final = (db_index.LEDGERS, db_index.LOCATIONS, db_index.SCOPED_LEDGERS, db_index.SCOPED_LOCATIONS)


class Conversion:
    """Converts the indexes in ``directory``, a ``current`` that no bookie uses, to the class ``to``.

    ``advance()`` is called after each batch.  Calls block.
    """

    def __init__(
        self, disk: Disk, directory: str, to: str, config: BookieConfig, advance: Callable[[], None] = lambda: None
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._to = to
        self._config = config
        self._advance = advance
        self._state_path = os.path.join(directory, CONVERSION_NAME)
        self.ledgers = 0
        """How many ledgers the other class has now."""
        self.entries = 0
        """How many locations were copied; those that an earlier attempt has copied are not among them."""

    def run(self) -> None:
        """Convert, or go on with it.  Raises RefusedToStart, StorageFailed, OSError; then it can be begun again."""
        state = self._state()
        if state is None:
            self._check()
            self._set_state(COPYING)
            state = COPYING
        if state == COPYING:
            self._copy_all()
            self._set_state(REMOVING)
        self._remove_source()
        remove_durably(self._disk, self._state_path)

    def _state(self) -> str | None:
        if not self._disk.exists(self._state_path):
            return None
        to, _, state = self._disk.read(self._state_path).decode(errors="replace").strip().partition(" ")
        if to != self._to or state not in (COPYING, REMOVING):
            raise RefusedToStart(f"{self._state_path} says that a conversion to {to} is under way: finish that first")
        return state

    def _set_state(self, state: str) -> None:
        self._disk.replace(self._state_path, f"{self._to} {state}\n".encode())

    def _check(self) -> None:
        """Raise RefusedToStart unless one class, the other one, has indexes here."""
        has = {
            INDEX_FILES: any(True for _ in LedgerIndexes(self._disk, self._directory, 1).ledger_ids()),
            ROCKSDB: any(self._disk.exists(os.path.join(self._directory, name)) for name in DATABASES),
        }
        if has[self._to] and has[OTHER[self._to]]:
            raise RefusedToStart(
                f"{self._directory} has index files and databases of RocksDB: remove those that the bookie did not use"
            )
        if has[self._to]:
            raise RefusedToStart(f"{self._directory} is one of {self._to} already")

    def _copy_all(self) -> None:
        disks = LedgerDisks(self._disk, [self._directory], self._config)
        source, _ = indexes_of(self._disk, disks, evolve(self._config, ledger_storage_class=OTHER[self._to]))
        target, writer = indexes_of(self._disk, disks, evolve(self._config, ledger_storage_class=self._to))
        try:
            source.open()
            target.open()
            if source.needs_integrity_check:
                writer.set_needs_integrity_check(True)
            known = set(target.ledger_ids())
            if self._to == INDEX_FILES:
                self._sync_files(sorted(known))
            changes: list[IndexChange] = []
            for change in self._changes(source, target):
                changes.append(evolve(change, is_new=change.ledger_id not in known))
                known.add(change.ledger_id)
                # Of one ledger there is one change in a call.
                if sum(len(each.placed) + 1 for each in changes) >= BATCH_PAGES or len(change.placed) >= BATCH_PAGES:
                    writer.write(changes)
                    changes = []
                    self._advance()
            writer.write(changes)
            for ledger_id in source.ledger_ids():
                self.ledgers += 1
                if not _are_same(source, target, ledger_id):
                    name = ledger_name(ledger_id)
                    raise StorageFailed(f"ledger {name} is not the same in {self._to} afterwards: nothing is removed")
        finally:
            source.close()
            target.close()

    def _changes(self, source: Indexes, target: Indexes) -> Iterator[IndexChange]:
        """Yield what has to be written, a ledger at a time, or a part of one; those that are there are left out."""
        for ledger_id in source.ledger_ids():
            if _are_same(source, target, ledger_id):
                continue
            header = source.read_header(ledger_id)
            placed: list[PlacedRun] = []
            for number in _pages(source, ledger_id):
                placed += self._placed(source, ledger_id, number)
                if len(placed) >= BATCH_PAGES:
                    yield IndexChange(ledger_id, header, placed)
                    placed = []
            yield IndexChange(ledger_id, header, placed)

    def _placed(self, source: Indexes, ledger_id: int, number: int) -> list[PlacedRun]:
        page, placed = source.read_page(ledger_id, number), []
        for ids in source.ranges(ledger_id, number, 1):
            first = ids.start - number * PAGE_COUNT
            locations = page[first : first + len(ids)]
            self.entries += len(ids)
            # As runs whose buffers begin where the logs do; there is no buffer, for nobody reads the entries.
            placed.append(PlacedRun(EntryRun(ledger_id, ids.start, b"", locations + array("Q", [NO_LOCATION])), 0))
        return placed

    def _sync_files(self, ledger_ids: Sequence[int]) -> None:
        """Make durable what a killed attempt may have left in the page cache: it reads as if it were on the disk."""
        files = LedgerIndexes(self._disk, self._directory, 1)
        for at in range(0, len(ledger_ids), SLICE_COUNT):
            paths = [files.path(each) for each in ledger_ids[at : at + SLICE_COUNT]]
            with closing(self._disk.sync_group(self._directory)) as group:
                for path in paths:
                    group.add(self._disk.open(path, writable=True))
                group.sync()
                group.sync_directories(sorted({above for path in paths for above in self._above(path)}))

    def _above(self, path: str) -> Iterator[str]:
        while path != self._directory:
            path = os.path.dirname(path)
            yield path

    def _remove_source(self) -> None:
        if self._to == INDEX_FILES:
            for name in DATABASES:
                self._disk.remove_key_values(os.path.join(self._directory, name))
        else:
            files = LedgerIndexes(self._disk, self._directory, 1)
            paths = list(map(files.path, files.ledger_ids()))
            if files.needs_integrity_check:
                paths.append(os.path.join(self._directory, ledger_index.CHECK_NAME))
            for path in paths:
                self._disk.remove(path)
            with closing(self._disk.sync_group(self._directory)) as group:
                group.sync_directories(sorted(set(map(os.path.dirname, paths))))
        self._disk.sync_directory(self._directory)


def _pages(indexes: Indexes, ledger_id: int) -> Iterator[int]:
    """Return the pages that have locations, ascending."""
    number = indexes.next_page(ledger_id, 0)
    while number is not None:
        yield number
        number = indexes.next_page(ledger_id, number + 1)


def _are_same(source: Indexes, target: Indexes, ledger_id: int) -> bool:
    """Tell whether a ledger has the same state, and the same locations, in both."""
    if target.read_header(ledger_id, replaying=True) != source.read_header(ledger_id):
        return False
    return all(
        _whole(source.read_page(ledger_id, number)) == _whole(target.read_page(ledger_id, number))
        for number in _pages(source, ledger_id)
    )


def _whole(page: Page) -> Page:
    """Return a page with the zeros that a file need not have at its end."""
    return page + array("Q", [NO_LOCATION]) * (PAGE_COUNT - len(page))

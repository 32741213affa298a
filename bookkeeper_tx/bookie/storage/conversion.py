"""Conversion of the indexes of a bookie from one class of ledger storage to another, both ways.

    NONE --begin--> COPYING --all is the same in both--> REMOVING what it was made from --all gone--> NONE

A file in the directory has the state, durably before anything else is changed, and no bookie of ours starts while it is
there.  So a conversion that was interrupted is begun again, and finds what is done already.  Journal, entry logs and
mark are the same for all classes, and stay as they are.

With several directories entry logs change, too: DbLedgerStorage has those of a ledger in its home, and numbers those of
each directory by themselves.  So entries go home before COPYING; and between COPYING and REMOVING, the other way round,
logs get numbers that no other directory has (RENUMBERING).
"""

import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import chain
from typing import Final

from attrs import evolve

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.space import LedgerDisks
from bookkeeper_tx.bookie.storage.compaction_leftovers import clean
from bookkeeper_tx.bookie.storage.conversion_state import COPYING, REMOVING, RENUMBERING, ConversionState
from bookkeeper_tx.bookie.storage.db.lost_databases import refuse_lost_databases
from bookkeeper_tx.bookie.storage.deleted_ledgers import share_deleted
from bookkeeper_tx.bookie.storage.entry_log import PlacedRun
from bookkeeper_tx.bookie.storage.flush import SLICE_COUNT
from bookkeeper_tx.bookie.storage.index_pair import IndexPair, pages_of
from bookkeeper_tx.bookie.storage.index_writer import HEADER_PLACE, IndexChange, page_place, written_again
from bookkeeper_tx.bookie.storage.indexes import Indexes, WritesIndexes
from bookkeeper_tx.bookie.storage.ledger_index import LedgerIndexes
from bookkeeper_tx.bookie.storage.several.gathering import Gathering
from bookkeeper_tx.bookie.storage.several.homes import check_homes, home_of, share_of
from bookkeeper_tx.bookie.storage.several.log_numbers import renumber, shift_of, stride_of
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

BATCH_PAGES: Final = 1024
"""Pages written together, of one ledger or of many: 8 MiB of locations."""

DATABASES: Final = (db_index.LEDGERS, db_index.LOCATIONS, db_index.SCOPED_LEDGERS, db_index.SCOPED_LOCATIONS)


class Conversion:
    """Converts the indexes of a bookie that does not run to the class ``to``.

    ``directories`` are the ``current`` of its ledger directories, in the order of its configuration; ``indexes`` those
    of its indexes, one for each of these, where they are others.  ``advance()`` is called after each batch.  Calls
    block.
    """

    def __init__(
        self,
        disk: Disk,
        directories: Sequence[str],
        to: str,
        config: BookieConfig,
        advance: Callable[[], None] = lambda: None,
        indexes: Sequence[str] = (),
    ) -> None:
        self._disk = disk
        self._directories = directories
        self._indexes = indexes or directories
        self._to = to
        self._config = config
        self._advance = advance
        self._state = ConversionState(disk, self._directories, self._indexes, to)
        self.ledgers = 0
        """How many ledgers the other class has now."""
        self.entries = 0
        """How many locations were copied; those that an earlier attempt has copied are not among them."""

    def run(self) -> None:
        """Convert, or go on with it.  Raises RefusedToStart, StorageFailed, OSError; then it can be begun again."""
        state = self._state.read()
        if state is None:
            self._check()
            for directory in self._directories:
                clean(self._disk, directory)
            self._prepare()
            state = self._state.write(COPYING)
        elif state == COPYING:
            self._refuse_lost_source()
        if state == COPYING:
            self._copy_all()
            if self._several and self._to == ROCKSDB:
                share_deleted(self._disk, self._directories)
            state = self._state.write(RENUMBERING if self._state.stride else REMOVING)
        if state == RENUMBERING:
            renumber(self._disk, self._directories, self._state.stride)
            self._state.write(REMOVING)
        self._remove_source()
        self._state.remove()

    @property
    def _several(self) -> bool:
        return len(self._directories) > 1

    def _prepare(self) -> None:
        """Bring entries to the directories in which their ledgers will be looked for, or choose numbers of logs."""
        if self._several and self._to == ROCKSDB:
            with ExitStack() as stack:
                ((indexes, writer),) = self._opened(stack, OTHER[self._to])
                here = frozenset(indexes.ledger_ids())
                disks = LedgerDisks(self._disk, self._directories, self._config)
                log_bytes_max = self._config.entry_log_bytes_max
                Gathering(self._disk, disks, log_bytes_max, indexes, writer).run(here, self._advance)
        elif self._several:
            self._state.stride = stride_of(self._disk, self._directories)

    def _check(self) -> None:
        """Raise RefusedToStart unless one class, the other one, has indexes here."""
        has = {
            INDEX_FILES: any(
                True for directory in self._indexes for _ in LedgerIndexes(self._disk, directory, 1).ledger_ids()
            ),
            ROCKSDB: any(
                self._disk.exists(os.path.join(directory, name)) for directory in self._indexes for name in DATABASES
            ),
        }
        named = ", ".join(self._indexes)
        if has[self._to] and has[OTHER[self._to]]:
            raise RefusedToStart(
                f"{named} has index files and databases of RocksDB: remove those that the bookie did not use"
            )
        if has[self._to]:
            raise RefusedToStart(f"{named} is one of {self._to} already")
        self._refuse_lost_source()

    def _refuse_lost_source(self) -> None:
        """Raise RefusedToStart if databases are gone: none of their ledgers would be copied."""
        if self._to == INDEX_FILES:
            for index_directory, directory in zip(self._indexes, self._directories, strict=True):
                refuse_lost_databases(self._disk, index_directory, [directory])

    def _opened(self, stack: ExitStack, name: str) -> list[tuple[Indexes, WritesIndexes]]:
        """Return the indexes of a class, until the end of ``stack``: those of all directories, or of each."""
        config = evolve(self._config, ledger_storage_class=name)
        if name == ROCKSDB:
            config = share_of(config, len(self._directories))
        opened = []
        for directories in [[each] for each in self._indexes] if name == ROCKSDB else [self._indexes]:
            indexes, writer = indexes_of(self._disk, LedgerDisks(self._disk, directories, config), config)
            stack.callback(indexes.close)
            indexes.open()
            opened.append((indexes, writer))
        return opened

    def _copy_all(self) -> None:
        with ExitStack() as stack:
            sources, targets = (self._opened(stack, name) for name in (OTHER[self._to], self._to))
            if self._to == INDEX_FILES:
                self._write_files_again()
            pairs = self._pairs(sources, targets)
            for pair in pairs:
                self._copy(pair)
            for pair in pairs:
                for ledger_id in pair.ledger_ids:
                    self.ledgers += 1
                    if not pair.is_same(ledger_id):
                        name = ledger_name(ledger_id)
                        raise StorageFailed(
                            f"ledger {name} is not the same in {self._to} afterwards: nothing is removed"
                        )

    def _pairs(
        self, sources: Sequence[tuple[Indexes, WritesIndexes]], targets: Sequence[tuple[Indexes, WritesIndexes]]
    ) -> list[IndexPair]:
        if len(sources) == 1:
            ((source, _),) = sources
            ids: list[list[int]] = [[] for _ in targets]
            for ledger_id in source.ledger_ids():
                ids[home_of(ledger_id, len(targets))].append(ledger_id)
            return [IndexPair(source, each, *target, 0) for each, target in zip(ids, targets, strict=True)]
        pairs = []
        for at, (source, _) in enumerate(sources):
            ledger_ids = list(source.ledger_ids())
            check_homes(ledger_ids, at, self._indexes)
            pairs.append(IndexPair(source, ledger_ids, *targets[0], shift_of(at, self._state.stride)))
        return pairs

    def _copy(self, pair: IndexPair) -> None:
        target, writer = pair.target, pair.writer
        if pair.source.needs_integrity_check:
            writer.set_needs_integrity_check(True)
        known = set(target.ledger_ids())
        changes: list[IndexChange] = []
        for change in self._changes(pair):
            changes.append(evolve(change, is_new=change.ledger_id not in known))
            known.add(change.ledger_id)
            # Of one ledger there is one change in a call.
            if sum(len(each.placed) + 1 for each in changes) >= BATCH_PAGES or len(change.placed) >= BATCH_PAGES:
                writer.write(changes)
                changes = []
                self._advance()
        writer.write(changes)

    def _changes(self, pair: IndexPair) -> Iterator[IndexChange]:
        """Yield what has to be written, a ledger at a time, or a part of one; those that are there are left out."""
        source = pair.source
        for ledger_id in pair.ledger_ids:
            if pair.is_same(ledger_id):
                continue
            header = source.read_header(ledger_id)
            placed: list[PlacedRun] = []
            for number in pages_of(source, ledger_id):
                placed += [evolve(each, base=pair.shift) for each in self._placed(source, ledger_id, number)]
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

    def _write_files_again(self) -> None:
        """Make durable what an earlier attempt may have left in the page cache: it reads as if it were on the disk."""
        for directory in self._indexes:
            with closing(LedgerIndexes(self._disk, directory, 1)) as files:
                ledger_ids = sorted(files.ledger_ids())
                for at in range(0, len(ledger_ids), SLICE_COUNT):
                    self._write_slice_again(files, ledger_ids[at : at + SLICE_COUNT])

    def _write_slice_again(self, files: LedgerIndexes, ledger_ids: Sequence[int]) -> None:
        paths = {ledger_id: files.path(ledger_id) for ledger_id in ledger_ids}
        with closing(self._disk.sync_group(files.directory)) as group:
            for ledger_id, path in paths.items():
                pages = map(page_place, pages_of(files, ledger_id))
                group.add(written_again(self._disk, path, chain([HEADER_PLACE], pages)))
            group.sync()
            above = {each for path in paths.values() for each in _above(path, files.directory)}
            group.sync_directories(sorted(above))

    def _remove_source(self) -> None:
        for directory in self._indexes:
            if self._to == INDEX_FILES:
                for name in DATABASES:
                    self._disk.remove_key_values(os.path.join(directory, name))
            else:
                self._remove_files(directory)
            self._disk.sync_directory(directory)

    def _remove_files(self, directory: str) -> None:
        files = LedgerIndexes(self._disk, directory, 1)
        paths = list(map(files.path, files.ledger_ids()))
        if files.needs_integrity_check:
            paths.append(os.path.join(directory, ledger_index.CHECK_NAME))
        for path in paths:
            self._disk.remove(path)
        with closing(self._disk.sync_group(directory)) as group:
            group.sync_directories(sorted(set(map(os.path.dirname, paths))))


def _above(path: str, directory: str) -> Iterator[str]:
    while path != directory:
        path = os.path.dirname(path)
        yield path

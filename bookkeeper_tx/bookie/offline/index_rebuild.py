"""Making index files anew from entry logs, where indexes were lost or damaged.

1. All entry logs are read; the places of entries go to new files beside the index files.  An entry that is alone, far
   past all others of its ledger, gets one at the end, unless its id is known to be damaged.
2. What entry logs do not say comes from the old index if its header can be read: the ledger's key, fence and explicit
   last add confirmed.  Else the caller must know the key; the ledger is fenced then, as nobody knows whether it was.
3. Places in the old index that were not found, behind damage in a log, stay if the entry is there; so do those at
   which the damage begins, and those in logs that cannot be read: the bookie tells an error there, and not that it
   never had the entry.
4. The new file is synced, and takes the name of the old one.  A crash leaves each index old or new.

Entries that are in the journal only stay there: the next start replays them.
"""

import contextlib
import os
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from attrs import define, frozen

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.offline.entry_logs import EntryLogs, LogFile, list_logs, read_header
from bookkeeper_tx.bookie.offline.far_entries import FarEntries, doubt, ids_in_index
from bookkeeper_tx.bookie.offline.index_files import IndexFiles
from bookkeeper_tx.bookie.offline.index_spool import IndexSpool
from bookkeeper_tx.bookie.offline.log_locations import LocatedRun, located_runs
from bookkeeper_tx.bookie.offline.places import Places
from bookkeeper_tx.bookie.offline.records import Record, one_line, unreadable
from bookkeeper_tx.bookie.offline.stored_entries import Stored, entries_at, locations_of
from bookkeeper_tx.bookie.storage.entry_location import location, split_location
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader, LedgerIndexes, pack_locations, unpack_page
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.disk import ledger_index as spec
from protocol_specs.disk.entry_log import NO_LOCATION
from protocol_specs.ledger_id import SCOPED_MIN

SLICE_COUNT: Final = 1024
"""Ledgers whose new files are synced together."""

Report = Callable[[str], None]


@define
class Found:
    """What a scan found of one ledger."""

    entries: int = 0
    """Entries in the logs; one that is in two logs counts twice."""
    directory: int = 0
    """Which index directory its file is in."""
    header: IndexHeader | None = None
    """The header of the old index, if it can be read."""


@frozen
class Rebuilt:
    """One ledger after the rebuild."""

    ledger_id: int
    entries: int
    """Entries that were found in the logs."""
    kept: int
    """Entries that the old index alone knew, and that are there."""
    fenced: bool


class IndexRebuild:
    """One rebuild.  Calls block.

    ``wanted`` are the ledgers whose index is made; None: all that have entries in the logs, or an index.
    """

    def __init__(
        self, disk: Disk, places: Places, wanted: Collection[int] | None = None, dry_run: bool = False
    ) -> None:
        self._disk = disk
        self._places = places
        self._wanted = None if wanted is None else frozenset(wanted)
        self._dry_run = dry_run
        self._index_files = IndexFiles(disk, places.index_currents)
        self._spools = [IndexSpool(disk, each) for each in self._index_files.directories]
        self._far = FarEntries()
        self._damaged: set[int] = set()
        """The places of records that are none of the entry that they should be, or none at all."""
        self._log_paths: dict[tuple[int, bool], str] = {}
        self._unread: set[tuple[int, bool]] = set()
        """Logs that cannot be read, or not to their ends: id, and whether of ledgers outside scope 0."""
        self.found: dict[int, Found] = {}
        self.logs = 0
        self.entries = 0
        self.problems = 0

    def scan(self, report: Report, advance: Callable[[], None] = lambda: None) -> None:
        """Read the logs and the headers of old indexes; ``report`` is called with a line for each problem."""
        for spool in self._spools if not self._dry_run else ():
            spool.remove_left_behind()
        for ledger_id in self._index_files.ledger_ids() if self._wanted is None else self._wanted:
            if self._index_files.find(ledger_id) is not None:
                self._ledger(ledger_id, report)
        for log in list_logs(self._disk, self._places.ledger_currents):
            known = self._log_paths.setdefault((log.log_id, log.scoped), log.path)
            if known != log.path:
                raise StorageFailed(
                    f"{known} and {log.path} have one id, which an index file cannot tell apart: logs in several "
                    "directories have them so with DbLedgerStorage only.  If its databases are lost, give --renumber"
                )
            for run in self._read(log, report):
                if isinstance(run, LocatedRun):
                    self._take(run, report)
                else:
                    self._damaged.add(location(log.log_id, run.offset))
                    self._problem(report, f"{log.path}: {run}")
                advance()

    def _read(self, log: LogFile, report: Report) -> Iterator[LocatedRun | Record]:
        try:
            with contextlib.closing(self._disk.open(log.path)) as file:
                if file.size():  # Java makes the next log ahead of time
                    self.logs += 1
                    yield from located_runs(file, log, read_header(file))
        except StorageFailed as error:
            self._problem(report, one_line(error))
        except OSError as error:
            self._unread.add((log.log_id, log.scoped))
            self._problem(report, unreadable(log.path, error))

    def in_doubt(self) -> list[int]:
        """Return the ledgers with an entry whose id may be damaged, ascending."""
        return list(self._far.left())

    def settle(self, last_entry_ids: Mapping[int, int], report: Report) -> None:
        """Give a place to the entries in doubt, unless something contradicts; to be called after :meth:`scan`.

        ``last_entry_ids`` are those of ledgers that are closed.
        """
        for ledger_id, runs in self._far.left().items():
            known = ids_in_index(self._index_files.find(ledger_id), ledger_id, {run.locations[0] for run in runs})
            for run in runs:
                place = run.locations[0]
                text, is_placed = doubt(run, last_entry_ids.get(ledger_id), known[place])
                if text:
                    log_id, offset = split_location(place)
                    path = self._log_paths[log_id, ledger_id >= SCOPED_MIN]
                    self._problem(report, f"{path}: offset {offset}: {text}")
                if is_placed:
                    self._place(run)
                else:
                    self._damaged.add(place)
        for spool in self._spools:
            spool.write()

    def without_key(self) -> list[int]:
        """Return the ledgers whose key must be given to :meth:`finish`, ascending."""
        return sorted(ledger_id for ledger_id, found in self.found.items() if found.header is None)

    def finish(self, keys: Mapping[int, bytes], advance: Callable[[], None] = lambda: None) -> Iterator[Rebuilt]:
        """Put the new files in the place of the old ones, and give what each ledger has.

        A ledger whose key is neither in its old index nor in ``keys`` is left as it is.
        """
        headers = ((ledger_id, self._header(ledger_id, keys)) for ledger_id in sorted(self.found))
        known = ((ledger_id, header) for ledger_id, header in headers if header is not None)
        with contextlib.closing(EntryLogs(self._disk, self._places.ledger_currents)) as logs:
            while some := list(islice(known, SLICE_COUNT)):
                for number, indexes in enumerate(self._index_files.directories):
                    here = [each for each in some if self.found[each[0]].directory == number]
                    yield from self._finish(here, indexes, self._spools[number], logs, advance)

    def _header(self, ledger_id: int, keys: Mapping[int, bytes]) -> IndexHeader | None:
        """Return the header that the index of a ledger gets; None if its key is not known."""
        header, key = self.found[ledger_id].header, keys.get(ledger_id)
        return header or (None if key is None else IndexHeader(key, fenced=True))

    def close(self) -> None:
        """Close the files, and remove new ones that have not become index files."""
        for spool in self._spools:
            spool.discard()
        self._index_files.close()

    def _ledger(self, ledger_id: int, report: Report) -> Found:
        """Return what is known of a ledger, after a first look at its old index."""
        found = self.found.get(ledger_id)
        if found is None:
            found = self.found[ledger_id] = Found()
            indexes = self._index_files.find(ledger_id)
            if indexes is not None:
                found.directory = self._index_files.directories.index(indexes)
                try:
                    found.header = indexes.read_header(ledger_id)
                except StorageFailed as error:
                    self._problem(report, one_line(error))
        return found

    def _take(self, run: LocatedRun, report: Report) -> None:
        if self._wanted is not None and run.ledger_id not in self._wanted:
            return
        self._ledger(run.ledger_id, report)
        for each in self._far.take(run):
            self._place(each)

    def _place(self, run: LocatedRun) -> None:
        found = self.found[run.ledger_id]
        found.entries += len(run.locations)
        self.entries += len(run.locations)
        if not self._dry_run:
            self._spools[found.directory].add(run)

    def _problem(self, report: Report, text: str) -> None:
        self.problems += 1
        report(text)

    def _finish(
        self,
        ledgers: Sequence[tuple[int, IndexHeader]],
        indexes: LedgerIndexes,
        spool: IndexSpool,
        logs: EntryLogs,
        advance: Callable[[], None],
    ) -> list[Rebuilt]:
        """Complete the new files of some ledgers, sync them together, and let them take the names of the old ones."""
        done: list[Rebuilt] = []
        if self._dry_run:
            return [Rebuilt(each, self.found[each].entries, 0, header.fenced) for each, header in ledgers]
        with contextlib.closing(self._disk.sync_group(indexes.directory)) as group:
            for ledger_id, header in ledgers:
                file = spool.open(ledger_id)
                try:
                    kept = self._complete(file, indexes, ledger_id, header, logs)
                except BaseException:
                    file.close()
                    raise
                group.add(file)
                done.append(Rebuilt(ledger_id, self.found[ledger_id].entries, kept, header.fenced))
                advance()
            group.sync()
            for ledger_id, _ in ledgers:
                self._disk.rename(spool.path(ledger_id), indexes.path(ledger_id))
                spool.taken(ledger_id)
                indexes.replaced(ledger_id)
            group.sync_directories(_directories_above([indexes.path(each) for each, _ in ledgers], indexes.directory))
        return done

    def _complete(
        self, file: File, indexes: LedgerIndexes, ledger_id: int, header: IndexHeader, logs: EntryLogs
    ) -> int:
        """Add to a new file what it lacks; return how many entries the old index alone knew."""
        kept = self._keep(file, indexes, ledger_id, logs) if self._disk.exists(indexes.path(ledger_id)) else 0
        file.write(header.pack(), 0)
        pages = -(-(file.size() - spec.HEADER_SIZE) // spec.PAGE_SIZE)
        file.truncate(spec.HEADER_SIZE + pages * spec.PAGE_SIZE)
        return kept

    def _keep(self, file: File, indexes: LedgerIndexes, ledger_id: int, logs: EntryLogs) -> int:
        """Copy the places of entries that only the old index has, and that are right; return how many there are."""
        kept = 0
        with contextlib.suppress(StorageFailed):  # what could be read is copied
            for first_id, page in locations_of(indexes, ledger_id):
                new = unpack_page(file.read(len(page) * spec.LOCATION_SIZE, _offset_of(first_id)))
                for slot, each in enumerate(new):
                    if each != NO_LOCATION:
                        page[slot] = NO_LOCATION
                for slot, each in enumerate(page):
                    if each != NO_LOCATION and self._stays(each, ledger_id):
                        file.write(pack_locations(array("Q", [each])), _offset_of(first_id + slot))
                        page[slot] = NO_LOCATION
                for stored in entries_at(logs, ledger_id, first_id, page):
                    if isinstance(stored, Stored):
                        kept += stored.run.count
                        file.write(_locations_in(stored), _offset_of(stored.run.first_entry_id))
        return kept

    def _stays(self, place: int, ledger_id: int) -> bool:
        """Tell whether a place of the old index stays though no entry is found there."""
        return place in self._damaged or (split_location(place)[0], ledger_id >= SCOPED_MIN) in self._unread


def _directories_above(paths: Iterable[str], top: str) -> list[str]:
    """Return the directories in which the names of these files may be new, up to ``top``."""
    found: set[str] = set()
    for directory in map(os.path.dirname, paths):
        while directory not in found:
            found.add(directory)
            if directory == top:
                break
            directory = os.path.dirname(directory)
    return sorted(found)


def _offset_of(entry_id: int) -> int:
    """Return where in an index file the location of an entry is."""
    return spec.HEADER_SIZE + entry_id * spec.LOCATION_SIZE


def _locations_in(stored: Stored) -> bytes:
    """Return the locations of entries that are back to back, as an index file has them."""
    offsets = stored.run.offsets
    base = location(stored.log_id, stored.offset - offsets[0])
    return pack_locations(array("Q", map(base.__add__, offsets[:-1])))

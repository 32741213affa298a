"""Writing index files (docs/formats/ledger-index.md): many at a time, which become durable together."""

import contextlib
import os
from array import array
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Final

from attrs import frozen

from bookkeeper_tx.bookie.disk import Disk, File
from bookkeeper_tx.bookie.storage.checked_pieces import Piece, PieceMaker
from bookkeeper_tx.bookie.storage.entry_log import PlacedRun
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader, LedgerIndexes, pack_locations
from protocol_specs.disk import ledger_index as spec
from protocol_specs.ledger_id import SCOPED_MIN

NEW_SUFFIX: Final = ".new"
"""Suffix to the name of a new index file until it is durable, so that no crash leaves half a header."""


@frozen
class IndexChange:
    """What is to be written to one index file."""

    ledger_id: int
    header: IndexHeader | None
    """None leaves the header as it is."""
    placed: Sequence[PlacedRun]
    """Runs of entries, ascending, whose locations are new."""
    is_new: bool = False
    """Whether there is no file yet; then there must be a header."""
    is_doubtful: bool = False
    """Whether the file was found after a crash, so that its name may not be on the disk."""


@frozen
class WrittenLocations:
    """The changes of a write to one index."""

    parts: "list[tuple[int, int, array[int]]]"
    """Number of a page, the first slot in it, and the locations from there on."""
    pieces: list[Piece]
    """Entries back to back in a log, for :class:`~bookkeeper_tx.bookie.storage.checked_pieces.CheckedPieces`."""


class IndexWriter:
    """Writes the index files that ``indexes`` reads.  Calls block, and come from one thread at a time."""

    def __init__(self, disk: Disk, indexes: LedgerIndexes) -> None:
        self._disk = disk
        self._indexes = indexes

    def write(self, changes: Sequence[IndexChange]) -> list[WrittenLocations]:
        """Make ``changes``, of one ledger each, durable.  After an OSError the same ones can be written again.

        New files get their names when the bytes of all are on the disk.  So a crash leaves each of them whole or not
        there, and of the other files any of their sectors as before: an entry without a location is still in the
        journal.
        """
        paths = [self._indexes.path(change.ledger_id) for change in changes]
        with closing(self._disk.sync_group(self._indexes.directory)) as group:
            written: list[WrittenLocations] = []
            for change, path in zip(changes, paths, strict=True):
                file = self._create(change, path + NEW_SUFFIX) if change.is_new else self._disk.open(path, True)
                try:
                    if change.header is not None:
                        file.write(change.header.pack(), 0)
                    written.append(_write_locations(file, change))
                except BaseException:
                    file.close()
                    raise
                group.add(file)
            group.sync()
            for change, path in zip(changes, paths, strict=True):
                if change.is_new:
                    self._disk.rename(path + NEW_SUFFIX, path)
                    self._indexes.replaced(change.ledger_id)
            named = (path for change, path in zip(changes, paths, strict=True) if change.is_new or change.is_doubtful)
            group.sync_directories(self._directories_above(named))
        return written

    def delete(self, ledger_ids: Sequence[int]) -> None:
        """Remove index files, durably.  After an OSError some of them may be there."""
        with closing(self._disk.sync_group(self._indexes.directory)) as group:
            paths = [self._indexes.path(ledger_id) for ledger_id in ledger_ids]
            for ledger_id, path in zip(ledger_ids, paths, strict=True):
                with contextlib.suppress(FileNotFoundError):
                    self._disk.remove(path)
                self._indexes.replaced(ledger_id)
            group.sync_directories(sorted({os.path.dirname(path) for path in paths}))
        for ledger_id, path in zip(ledger_ids, paths, strict=True):
            if ledger_id >= SCOPED_MIN:
                self._remove_empty(os.path.dirname(path))

    def _remove_empty(self, directory: str) -> None:
        """Remove directories that have nothing in them: ids that are random have directories of their own."""
        with contextlib.suppress(OSError):
            while directory != self._indexes.directory:
                self._disk.remove_directory(directory)
                directory = os.path.dirname(directory)

    def _create(self, change: IndexChange, path: str) -> File:
        if change.header is None:
            raise ValueError(f"a new index needs a header (ledger {change.ledger_id})")
        try:
            return self._disk.create(path)
        except FileNotFoundError:
            if not self._disk.exists(self._indexes.directory):  # it has vanished: do not begin another in its place
                raise
            self._disk.make_directories(os.path.dirname(path), durable=False)
        except FileExistsError:
            self._disk.remove(path)
        return self._disk.create(path)

    def _directories_above(self, paths: Iterable[str]) -> list[str]:
        """Return the directories in which the names of these files may be new.

        They are all those above: one that is there already may be the work of a process that was killed before it could
        sync the directory above.
        """
        found: set[str] = set()
        for directory in {path.rpartition(os.sep)[0] for path in paths}:
            while directory not in found:
                found.add(directory)
                if directory == self._indexes.directory:
                    break
                directory = os.path.dirname(directory)
        return sorted(found)


def _write_locations(file: File, change: IndexChange) -> WrittenLocations:
    """Put the locations of runs into their pages, which stay whole; the locations between are holes, or as before.

    Only what is new is written: a page is 8 KiB, and with many ledgers most flushes have a few entries of each.
    """
    pieces = PieceMaker()
    stretch = _Stretch(file)
    last_number = -1
    for each in change.placed:
        run = each.run
        locations = array("Q", map(each.base.__add__, run.offsets[:-1]))
        stretch.add(run.first_entry_id, locations)
        at, count = 0, len(locations)
        while at < count:
            number, slot = divmod(run.first_entry_id + at, spec.PAGE_COUNT)
            if number != last_number:
                last_number = number
                pieces.close()
            part = locations[at : at + spec.PAGE_COUNT - slot]
            pieces.add(each, at, part)
            at += len(part)
    stretch.write()
    if last_number >= 0:
        end = spec.HEADER_SIZE + (last_number + 1) * spec.PAGE_SIZE
        if change.is_new or file.size() < end:
            file.truncate(end)
    return WrittenLocations(stretch.parts, pieces.take())


class _Stretch:
    """The locations of consecutive entries, for one write."""

    def __init__(self, file: File) -> None:
        self.parts: list[tuple[int, int, array[int]]] = []
        """What was written, page by page, as :class:`WrittenLocations` has it."""
        self._file = file
        self._locations = array("Q")
        self._first_id = self._next_id = 0

    def add(self, first_entry_id: int, locations: "array[int]") -> None:
        if first_entry_id != self._next_id:
            self.write()
        if not self._locations:
            self._first_id = first_entry_id
        self._locations.extend(locations)
        self._next_id = first_entry_id + len(locations)

    def write(self) -> None:
        locations = self._locations
        if not locations:
            return
        number, slot = divmod(self._first_id, spec.PAGE_COUNT)
        for at in range(-slot, len(locations), spec.PAGE_COUNT):
            self.parts.append((number, max(-at, 0), locations[max(at, 0) : at + spec.PAGE_COUNT]))
            number += 1
        self._file.write(pack_locations(locations), spec.HEADER_SIZE + self._first_id * spec.LOCATION_SIZE)
        self._locations = array("Q")

"""Writing index files (docs/formats/ledger-index.md): many at a time, which become durable together."""

import contextlib
import errno
import os
from array import array
from collections.abc import Iterable, Sequence
from contextlib import closing
from itertools import groupby
from operator import itemgetter
from typing import Final

from attrs import frozen
from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk, File, remove_durably
from bookkeeper_tx.bookie.storage.entry_log import PlacedRun
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader, LedgerIndexes, pack_locations
from bookkeeper_tx.bookie.storage.placed_locations import WrittenLocations, put_locations
from protocol_specs.disk import ledger_index as spec
from protocol_specs.ledger_id import SCOPED_MIN

NEW_SUFFIX: Final = ".new"
"""Suffix to the name of a new index file until it is durable, so that no crash leaves half a header."""

HEADER_PLACE: Final = spec.HEADER_SIZE, 0
"""The size of the header, and its offset in the file."""

log = Logger()


def page_place(number: int) -> tuple[int, int]:
    """Return the size of a page, and its offset in the file."""
    return spec.PAGE_SIZE, spec.HEADER_SIZE + number * spec.PAGE_SIZE


def written_again(disk: Disk, path: str, places: Iterable[tuple[int, int]]) -> File:
    """Write what is read at these sizes and offsets of a file where it was, and return the file, not synced yet.

    A sync alone would not make it durable: after one that failed Linux takes the page cache for clean.  Raises OSError.
    """
    file = disk.open(path, writable=True)
    try:
        for size, offset in places:
            file.write(file.read(size, offset), offset)
    except BaseException:
        file.close()
        raise
    return file


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


class IndexWriter:
    """Writes the index files that ``indexes`` reads.  Calls block, and come from one thread at a time."""

    def __init__(self, disk: Disk, indexes: LedgerIndexes) -> None:
        self._disk = disk
        self._indexes = indexes
        self.named_ids: set[int] = set()
        """The ledgers whose new files have got their names, of changes that come again since a write has failed."""

    def write(self, changes: Sequence[IndexChange]) -> list[WrittenLocations]:
        """Make ``changes``, of one ledger each, durable.  After an OSError the same ones can be written again.

        New files get their names when the bytes of all are on the disk.  So a crash leaves each of them whole or not
        there, and of the other files any of their sectors as before: an entry without a location is still in the
        journal.  A file that has got its name before a write failed is not made once more after it has vanished: it may
        come back, and must not come over another one.
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
                    self._name(change.ledger_id, path)
            named = (path for change, path in zip(changes, paths, strict=True) if change.is_new or change.is_doubtful)
            group.sync_directories(self._directories_above(named))
        self.named_ids.difference_update(change.ledger_id for change in changes)
        return written

    def set_needs_integrity_check(self, needed: bool) -> None:
        """Note, durably, whether entries may be missing in the directory.  Raises OSError."""
        path = os.path.join(self._indexes.directory, spec.CHECK_NAME)
        if needed:
            self._disk.replace(path, b"")
        elif self._disk.exists(path):
            remove_durably(self._disk, path)

    def write_again(self, pages: Sequence[tuple[int, int]]) -> None:
        """Make pages durable as they are read, each told by its ledger and number, ascending.  Raises OSError."""
        with closing(self._disk.sync_group(self._indexes.directory)) as group:
            for ledger_id, of_ledger in groupby(pages, itemgetter(0)):
                numbers = map(itemgetter(1), of_ledger)
                group.add(written_again(self._disk, self._indexes.path(ledger_id), map(page_place, numbers)))
            group.sync()

    def erase(self, ledger_id: int, stretches: Sequence[range]) -> None:
        """Have these entries no location any more, durably.  Raises OSError."""
        with closing(self._disk.open(self._indexes.path(ledger_id), writable=True)) as file:
            for each in stretches:
                file.write(bytes(len(each) * spec.LOCATION_SIZE), spec.HEADER_SIZE + each.start * spec.LOCATION_SIZE)
            file.sync()

    def delete(self, ledger_ids: Sequence[int]) -> Sequence[int]:
        """Remove index files, durably; return the ledgers of those that stay.  After an OSError any may be there."""
        left: list[int] = []
        with closing(self._disk.sync_group(self._indexes.directory)) as group:
            paths = [self._indexes.path(ledger_id) for ledger_id in ledger_ids]
            for ledger_id, path in zip(ledger_ids, paths, strict=True):
                try:
                    with contextlib.suppress(FileNotFoundError):
                        self._disk.remove(path)
                except OSError as error:
                    left.append(ledger_id)
                    log.error("index {path} of a deleted ledger stays for now: {error}", path=path, error=error)
                self._indexes.replaced(ledger_id)
            self.named_ids.difference_update(ledger_ids)
            group.sync_directories(sorted({os.path.dirname(path) for path in paths}))
        for ledger_id, path in zip(ledger_ids, paths, strict=True):
            if ledger_id >= SCOPED_MIN:
                self._remove_empty(os.path.dirname(path))
        return left

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

    def _name(self, ledger_id: int, path: str) -> None:
        if ledger_id in self.named_ids and not self._disk.exists(path):
            raise FileNotFoundError(errno.ENOENT, "the index has vanished", path)
        try:
            self._disk.rename(path + NEW_SUFFIX, path)
        except OSError:  # it may have been done all the same
            with contextlib.suppress(OSError):
                if self._disk.exists(path):
                    self.named_ids.add(ledger_id)
            raise
        self.named_ids.add(ledger_id)
        self._indexes.replaced(ledger_id)

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

    def put(first_entry_id: int, locations: "array[int]") -> None:
        file.write(pack_locations(locations), spec.HEADER_SIZE + first_entry_id * spec.LOCATION_SIZE)

    written = put_locations(change.placed, put)
    if written.parts:
        end = spec.HEADER_SIZE + (written.parts[-1][0] + 1) * spec.PAGE_SIZE
        if change.is_new or file.size() < end:
            file.truncate(end)
    return written

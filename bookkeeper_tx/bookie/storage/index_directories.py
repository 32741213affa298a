"""Index files in several directories: that of a ledger stays in the one in which it was made (Java's rules).

A new one is made in a directory picked at random among those whose disks are not full.
"""

import contextlib
import errno
import os
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.space import LedgerDisks
from bookkeeper_tx.bookie.storage.index_writer import IndexChange, IndexWriter
from bookkeeper_tx.bookie.storage.ledger_ids import LedgerIds
from bookkeeper_tx.bookie.storage.ledger_index import IndexHeader, LedgerIndexes, Page
from bookkeeper_tx.bookie.storage.placed_locations import WrittenLocations
from bookkeeper_tx.errors import RefusedToStart
from protocol_specs.disk.ledger_index import INDEX_SUFFIX, PAGE_COUNT

MOVED_SUFFIX: Final = INDEX_SUFFIX + ".rloc"
"""The end of the name of a copy that Java makes to move an index file."""

log = Logger()


class _IndexDirectory:
    """One of the directories."""

    def __init__(self, disk: Disk, path: str, open_files_max: int) -> None:
        self.path = path
        self.files = LedgerIndexes(disk, path, open_files_max)
        self.writer = IndexWriter(disk, self.files)
        self.ledger_ids = LedgerIds()
        """The ledgers whose index files are here, and those for which a new one is being made, or removed."""


class IndexDirectories:
    """Reads and writes the index files in the directories of ``disks``, as ``Indexes`` and ``WritesIndexes`` say.

    ``open_files_max`` is for all of them together; ``choose`` picks one of several directories.
    """

    def __init__(
        self,
        disk: Disk,
        disks: LedgerDisks,
        open_files_max: int,
        choose: Callable[[Sequence[str]], str] = random.choice,
    ) -> None:
        self._disk = disk
        self._disks = disks
        self._choose = choose
        paths = list(disks.spaces)
        files_max = max(open_files_max // len(paths), 1)
        self._directories = {path: _IndexDirectory(disk, path, files_max) for path in paths}
        self._first = self._directories[paths[0]]
        self._failed: str | None = None
        """The directory whose last write has failed: new files are made elsewhere."""

    # Reading ---------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Nothing is to be done: :meth:`ledger_ids` finds the files."""

    def estimated_entry_count(self) -> None:
        """Return None: only a look at each index would tell."""

    def ledger_ids(self) -> Iterator[int]:
        """Return the ledgers that have an index file.  Raises OSError.

        Raises RefusedToStart for one that has two: what only the other one says would be missing.  So it does for one
        whose move cannot be ended, since the file system is read-only.
        """
        for directory in self._directories.values():
            for ledger_id in directory.files.ledger_ids():
                known = self._find(ledger_id)
                if known not in (None, directory):
                    paths = f"{self.path(ledger_id)} and {directory.files.path(ledger_id)}"
                    raise RefusedToStart(
                        f"{paths} are indexes of the same ledger: one of them is a copy; move away that one"
                    )
                directory.ledger_ids.add(ledger_id)
                yield ledger_id
        for directory in self._directories.values():
            yield from self._finish_moves(directory)

    def _finish_moves(self, directory: _IndexDirectory) -> Iterator[int]:
        """End the moves that a Java bookie has begun from a full disk; return the ledgers that got their file by that.

        It copies the file, removes it where it was, and then gives the copy its name.
        """
        for ledger_id in directory.files.ledger_ids(MOVED_SUFFIX):
            path = directory.files.path(ledger_id)
            copy = path + MOVED_SUFFIX.removeprefix(INDEX_SUFFIX)
            if self._find(ledger_id) is not None:
                with contextlib.suppress(OSError):  # it is of no use
                    self._disk.remove(copy)
                continue
            try:
                self._sync_names(ledger_id)  # the old file must not come back beside the new one
                self._disk.rename(copy, path)
                self._disk.sync_directory(os.path.dirname(path))
            except OSError as error:
                if error.errno != errno.EROFS:
                    raise
                raise RefusedToStart(
                    f"{copy} is the index of a ledger that a bookie was moving when it was killed, and cannot get its "
                    "name on a read-only file system: start the bookie once with that mounted for writing"
                ) from None
            directory.ledger_ids.add(ledger_id)
            log.info("named index {path}, which a bookie that was killed has moved", path=path)
            yield ledger_id

    def _sync_names(self, ledger_id: int) -> None:
        for directory in self._directories.values():
            above = os.path.dirname(directory.files.path(ledger_id))
            if self._disk.exists(above):
                self._disk.sync_directory(above)

    @property
    def needs_integrity_check(self) -> bool:
        """Whether entries may be missing in the directories: one of them says so."""
        return any(each.files.needs_integrity_check for each in self._directories.values())

    def path(self, ledger_id: int) -> str:
        """Return the path of a ledger's index file."""
        return self._of(ledger_id).files.path(ledger_id)

    def read_header(self, ledger_id: int, *, replaying: bool = False) -> IndexHeader | None:
        return self._of(ledger_id).files.read_header(ledger_id, replaying=replaying)

    def read_page(self, ledger_id: int, number: int, count: int = PAGE_COUNT, first: int = 0) -> Page:
        return self._of(ledger_id).files.read_page(ledger_id, number, count, first)

    def read_page_at_once(self, ledger_id: int, number: int, count: int) -> "Page | None":
        return self._of(ledger_id).files.read_page_at_once(ledger_id, number, count)

    def ranges(self, ledger_id: int, first_page: int, page_count: int) -> list[range]:
        return self._of(ledger_id).files.ranges(ledger_id, first_page, page_count)

    def next_page(self, ledger_id: int, number: int) -> int | None:
        return self._of(ledger_id).files.next_page(ledger_id, number)

    def last_entry(self, ledger_id: int) -> tuple[int, int]:
        return self._of(ledger_id).files.last_entry(ledger_id)

    def close(self) -> None:
        for directory in self._directories.values():
            directory.files.close()

    # Writing ---------------------------------------------------------------------------------------------------------

    def write(self, changes: Sequence[IndexChange]) -> list[WrittenLocations]:
        """Make ``changes`` durable.  After an OSError the same ones can be written again."""
        new = [each.ledger_id for each in changes if self._find(each.ledger_id) is None]
        for ledger_id in new:
            self._for_new_file().ledger_ids.add(ledger_id)
        written: dict[int, WrittenLocations] = {}
        try:
            for directory in self._directories.values():
                here = [each for each in changes if each.ledger_id in directory.ledger_ids]
                if here:
                    results = self._write_in(directory, here)
                    written.update(zip((each.ledger_id for each in here), results, strict=True))
        except BaseException:
            for each in changes:
                if each.is_new and each.ledger_id in written:  # and comes again
                    self._of(each.ledger_id).writer.named_ids.add(each.ledger_id)
            self._forget_unmade(new)
            raise
        return [written[each.ledger_id] for each in changes]

    def set_needs_integrity_check(self, needed: bool) -> None:
        """Note it in each directory, durably.  Raises OSError."""
        for directory in self._directories.values():
            directory.writer.set_needs_integrity_check(needed)

    def write_again(self, pages: Sequence[tuple[int, int]]) -> None:
        for directory in self._directories.values():
            here = [each for each in pages if each[0] in directory.ledger_ids]
            if here:
                directory.writer.write_again(here)

    def erase(self, ledger_id: int, stretches: Sequence[range]) -> None:
        self._of(ledger_id).writer.erase(ledger_id, stretches)

    def delete(self, ledger_ids: Sequence[int]) -> Sequence[int]:
        """Remove index files, durably; return the ledgers of those that stay.  After an OSError any may be there.

        Until it is durable a ledger that is made anew gets its file in the place of the old one: otherwise it would
        have two of them after a crash.
        """
        left: list[int] = []
        for directory in self._directories.values():
            here = [each for each in ledger_ids if each in directory.ledger_ids]
            if here:
                stay = directory.writer.delete(here)
                for ledger_id in set(here).difference(stay):
                    directory.ledger_ids.discard(ledger_id)
                left += stay
        return left

    def _write_in(self, directory: _IndexDirectory, changes: Sequence[IndexChange]) -> list[WrittenLocations]:
        try:
            written = directory.writer.write(changes)
        except OSError:
            self._failed = directory.path
            raise
        if self._failed == directory.path:
            self._failed = None
        return written

    def _for_new_file(self) -> _IndexDirectory:
        allowed = self._disks.for_index_file() or list(self._directories)
        return self._directories[self._choose([each for each in allowed if each != self._failed] or allowed)]

    def _forget_unmade(self, ledger_ids: Sequence[int]) -> None:
        """Choose a directory anew for ledgers that have got no file, or none that a broken disk tells of."""
        for ledger_id in ledger_ids:
            directory = self._of(ledger_id)
            named_ids, made = directory.writer.named_ids, False
            with contextlib.suppress(OSError):
                made = self._disk.exists(directory.files.path(ledger_id)) or ledger_id in named_ids
            if not made:
                directory.ledger_ids.discard(ledger_id)
                named_ids.discard(ledger_id)

    def _find(self, ledger_id: int) -> _IndexDirectory | None:
        return next((each for each in self._directories.values() if ledger_id in each.ledger_ids), None)

    def _of(self, ledger_id: int) -> _IndexDirectory:
        """Return the directory of a ledger's index, the first one if it has none."""
        return self._find(ledger_id) or self._first

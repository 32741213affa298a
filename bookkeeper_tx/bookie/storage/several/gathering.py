"""Bringing entries home: to an entry log in the directory in which DbLedgerStorage looks for their ledger.

Index files may point to a log in any directory; so may those that are changed here, and a bookie with index files can
go on with what a crash leaves.  A log whose ledgers are all at home stays.  One with others is copied, log by log, as a
compaction does it, and then removed: it takes the room of one log.  Entries of ledgers without an index are copied,
too: whether they are garbage, only the metadata of the cluster can tell.

A log that cannot be read to its end stays: what the indexes have in it is copied, entry by entry.  What is damaged
itself keeps its location, which leads nowhere then, so that readers are told an error, as before.  What the disk does
not give now may not be damaged: such an error ends the work, and it can be begun again.
"""

import os
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing

from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.space import LedgerDisks
from bookkeeper_tx.bookie.storage.checked_pieces import CheckedPieces
from bookkeeper_tx.bookie.storage.entry_location import split_location
from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter, PlacedRun
from bookkeeper_tx.bookie.storage.entry_log_metadata import LogName, count, finished_names
from bookkeeper_tx.bookie.storage.entry_log_scan import CHUNK_SIZE, Damaged, scan
from bookkeeper_tx.bookie.storage.entry_mover import EntryMover
from bookkeeper_tx.bookie.storage.entry_reader import EntryReader
from bookkeeper_tx.bookie.storage.indexes import Indexes, WritesIndexes
from bookkeeper_tx.bookie.storage.ledger_directories import LedgerDirectories
from bookkeeper_tx.bookie.storage.several.homes import home_of
from bookkeeper_tx.entry.entry_run import EntryRun
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.disk.entry_log import NO_LOCATION
from protocol_specs.disk.ledger_index import PAGE_COUNT
from protocol_specs.ledger_id import SCOPED_MIN

log = Logger()


class _NewLogsInOne(LedgerDirectories):
    """All directories, of which one gets the new logs."""

    def __init__(self, disk: Disk, disks: LedgerDisks, path: str) -> None:
        super().__init__(disk, disks)
        self._only = LedgerDirectories(disk, disks.only(path))

    def check_room(self, size_bytes: int) -> None:
        self._only.check_room(size_bytes)

    def is_to_leave(self, directory: str, size_bytes: int) -> bool:
        return False

    def next(self, last: str | None, size_bytes: int) -> str:
        return self._only.next(last, size_bytes)


class Gathering:
    """Brings the entries in the logs on ``disks`` home, and has the indexes say so.  Calls block."""

    def __init__(
        self, disk: Disk, disks: LedgerDisks, log_bytes_max: int, indexes: Indexes, writer: WritesIndexes
    ) -> None:
        self._disk = disk
        self._indexes = indexes
        self._directories = LedgerDirectories(disk, disks)
        self._reader = EntryReader(disk, self._directories, CheckedPieces())
        self._paths = list(disks.spaces)
        self._logs = [EntryLogWriter(disk, _NewLogsInOne(disk, disks, path), log_bytes_max) for path in self._paths]
        self._movers = [EntryMover(logs, indexes, writer) for logs in self._logs]

    def run(self, ledger_ids: Collection[int], advance: Callable[[], None] = lambda: None) -> None:
        """Bring them home; ``ledger_ids`` have an index; ``advance()`` is called on the way.

        Raises OSError, StorageFailed, RefusedToStart; then it can be called again: what is at home stays there.
        """
        names = finished_names(self._directories.find())
        damaged: dict[LogName, int] = {}
        for logs in self._logs:
            logs.start()
        try:
            for name in names:
                try:
                    self._bring(name, ledger_ids.__contains__, advance)
                except Damaged as error:
                    log.error("a log stays where it is: {error}", error=error)
                    damaged[name] = self._paths.index(self._directories.directory_of(name.file_name))
            if damaged:
                self._bring_from(damaged, ledger_ids, advance)
            for logs in self._logs:
                logs.end_dead(lambda _: False)
        finally:
            for logs in self._logs:
                logs.close()
            self._reader.close()

    def _bring_from(
        self, damaged: Mapping[LogName, int], ledger_ids: Collection[int], advance: Callable[[], None]
    ) -> None:
        """Copy what the indexes have in these logs, each in one of the directories."""
        for ledger_id in ledger_ids:
            home, scoped = self._home(ledger_id), ledger_id >= SCOPED_MIN
            away = {name.log_id for name, at in damaged.items() if at != home and name.scoped == scoped}
            for batch in _batches(self._readable(ledger_id, away)) if away else ():
                self._movers[home].move(batch, lambda _: True)
                advance()

    def _readable(self, ledger_id: int, log_ids: Collection[int]) -> Iterator[PlacedRun]:
        """Give the entries that a ledger's index has in these logs, one by one, if they are not damaged."""
        number = self._indexes.next_page(ledger_id, 0)
        while number is not None:
            for entry_id, place in enumerate(self._indexes.read_page(ledger_id, number), number * PAGE_COUNT):
                if place != NO_LOCATION and split_location(place)[0] in log_ids:
                    run = self._read(ledger_id, entry_id, place)
                    if run is not None:
                        yield PlacedRun(run, place - run.offsets[0])
            number = self._indexes.next_page(ledger_id, number + 1)

    def _read(self, ledger_id: int, entry_id: int, place: int) -> EntryRun | None:
        try:
            return self._reader.read_run(ledger_id, entry_id, array("Q", [place]), 0)
        except StorageFailed as error:
            cause = error.__cause__
            if isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError):
                raise  # it may be there: the next attempt looks again
            log.error("an entry that is damaged is not copied: {error}", error=error)
            return None

    def _bring(self, name: LogName, has_index: Callable[[int], bool], advance: Callable[[], None]) -> None:
        directory = self._directories.directory_of(name.file_name)
        metadata = count(self._disk, directory, name)
        at = self._paths.index(directory)
        if all(self._home(ledger_id) == at for ledger_id in metadata.ledger_ids()):
            return
        path, unread = os.path.join(directory, name.file_name), metadata.total_bytes
        with closing(self._disk.open(path)) as file:
            for chunk in scan(file, name.log_id, name.scoped):
                unread -= sum(placed.run.size for placed in chunk)
                self._copy(chunk, has_index)
                advance()
        if unread:
            raise Damaged(f"entry log {path} has other entries than its ledgers map says")
        self._directories.remove(name.file_name)
        log.info("removed entry log {path}: its entries are in the directories of their ledgers", path=path)

    def _copy(self, chunk: list[PlacedRun], has_index: Callable[[int], bool]) -> None:
        for home, (logs, mover) in enumerate(zip(self._logs, self._movers, strict=True)):
            here = [placed for placed in chunk if self._home(placed.run.ledger_id) == home]
            mover.move(here, has_index)
            unknown: dict[int, list[EntryRun]] = {}
            for placed in here:
                if not has_index(placed.run.ledger_id):
                    unknown.setdefault(placed.run.ledger_id, []).append(placed.run)
            if unknown:
                logs.write(unknown.items())

    def _home(self, ledger_id: int) -> int:
        return home_of(ledger_id, len(self._paths))


def _batches(found: Iterable[PlacedRun]) -> Iterator[list[PlacedRun]]:
    """Give what is written and synced together."""
    batch: list[PlacedRun] = []
    size = 0
    for each in found:
        batch.append(each)
        size += each.run.size
        if len(batch) == PAGE_COUNT or size >= CHUNK_SIZE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch

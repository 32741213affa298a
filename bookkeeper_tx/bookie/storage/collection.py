"""What the garbage collector does with a storage: it deletes ledgers and logs, and moves entries.

No flush is under way meanwhile, so each call does little, and flushes come between two calls.  After one that has
failed, because the disk is full, ledgers and logs are deleted all the same: but not those in which that flush has put
entries, as its retry will write their locations.
"""

from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, TypeVar

from twisted.internet.defer import Deferred, succeed
from twisted.logger import Logger

from bookkeeper_tx.bookie.storage.checked_pieces import CheckedPieces
from bookkeeper_tx.bookie.storage.deleted_ledgers import DeletedLedgers
from bookkeeper_tx.bookie.storage.entry_location import location, split_location
from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter, PlacedRun
from bookkeeper_tx.bookie.storage.entry_log_metadata import LogName, finished_names
from bookkeeper_tx.bookie.storage.entry_mover import EntryMover, Moved
from bookkeeper_tx.bookie.storage.entry_reader import EntryReader
from bookkeeper_tx.bookie.storage.flush import StorageFlush
from bookkeeper_tx.bookie.storage.flushes import Flushes
from bookkeeper_tx.bookie.storage.indexes import Indexes, WritesIndexes
from bookkeeper_tx.bookie.storage.ledger_cache import LedgerCache
from bookkeeper_tx.bookie.storage.ledger_directories import LedgerDirectories
from bookkeeper_tx.bookie.storage.ledger_ids import LedgerIds
from bookkeeper_tx.bookie.storage.ledger_table import LedgerTable
from bookkeeper_tx.bookie.storage.read_cache import ReadCache
from bookkeeper_tx.bookie.storage.unflushed import Unflushed
from bookkeeper_tx.bookie.storage.unremoved_indexes import UnremovedIndexes
from bookkeeper_tx.errors import StorageFailed
from bookkeeper_tx.threads.worker import Threads

_Result = TypeVar("_Result")

log = Logger()


class FlushIncomplete(StorageFailed):
    """A flush has failed, and will be tried again: until then no entries are moved."""


class StorageCollection:
    """Collects in ``directories``, as :class:`bookkeeper_tx.bookie.garbage.storage.Collected` says."""

    def __init__(
        self,
        directories: LedgerDirectories,
        worker: Threads,
        flushes: Flushes,
        flusher: StorageFlush,
        unflushed: Unflushed,
        table: LedgerTable,
        deleted: DeletedLedgers,
        logs: EntryLogWriter,
        indexes: Indexes,
        index_writer: WritesIndexes,
        unremoved: UnremovedIndexes,
        reader: EntryReader,
        pages: LedgerCache,
        runs: ReadCache,
        pieces: CheckedPieces,
    ) -> None:
        self._directories = directories
        self._worker = worker
        self._flushes = flushes
        self._flusher = flusher
        self._unflushed = unflushed
        self._table = table
        self._deleted = deleted
        self._logs = logs
        self._indexes = indexes
        self._reader = reader
        self._pages = pages
        self._runs = runs
        self._pieces = pieces
        self._mover = EntryMover(logs, indexes, index_writer)
        self._deleted_here = LedgerIds()
        """The ledgers that were deleted since the start."""
        self._unremoved = unremoved
        self.journal_deleted: Callable[[Sequence[int]], Deferred[bool]] = lambda _: succeed(True)
        """Has the journal tell, durably, that ledgers are deleted: a replay must not bring them back.

        Fires with whether it does.
        """
        self.holds_mark = False
        """Whether the mark must stay: what tells a start which indexes it has to remove is before it alone."""
        flushes.on_marked = self._remove_or_journal

    def directory_of(self, name: LogName) -> str:
        return self._directories.directory_of(name.file_name)

    @property
    def ledger_count(self) -> int:
        return len(self._table)

    def ledger_ids(self) -> Iterator[int]:
        return self._table.ledger_ids()

    def has_ledger(self, ledger_id: int) -> bool:
        # All entries in logs that are called finished are in indexes.
        return self._table.has_index(ledger_id)

    def has_deleted(self, ledger_id: int) -> bool:
        return ledger_id in self._deleted_here

    def delete_ledgers(self, ledger_ids: Sequence[int]) -> Deferred[list[int]]:
        return self._between_flushes(self._delete_ledgers, ledger_ids)

    def finished_logs(self) -> Deferred[list[LogName]]:
        return self._between_flushes(self._finished_logs)

    def move(self, found: Sequence[PlacedRun]) -> Deferred[Moved]:
        return self._between_flushes(self._move, found)

    def last_in_log(self, ledger_id: int, page: int, name: LogName) -> tuple[int, int | None]:
        number = self._indexes.next_page(ledger_id, page)
        if number is None:
            return 0, None
        first, end = location(name.log_id, 0), location(name.log_id + 1, 0)
        locations = self._indexes.read_page(ledger_id, number)
        last = max((each for each in locations if first < each < end), default=0)
        return split_location(last)[1] if last else 0, number + 1

    def cut_log(self, name: LogName, offset: int) -> Deferred[None]:
        return self._between_flushes(self._cut_log, name, offset)

    def delete_log(self, name: LogName) -> Deferred[None]:
        return self._between_flushes(self._delete_log, name)

    # ---------------------------------------------------------------------------------------------------------------

    def _between_flushes(self, work: Callable[..., Coroutine[Any, Any, _Result]], *args: Any) -> Deferred[_Result]:
        def begin() -> Deferred[_Result]:
            return Deferred.fromCoroutine(work(*args))

        return self._flushes.between(begin)

    async def _delete_ledgers(self, ledger_ids: Sequence[int]) -> list[int]:
        wanted = [each for each in ledger_ids if self._table.has_index(each) and each not in self._unflushed]
        known = {each: ledger.fenced for each in wanted if (ledger := self._table.in_memory(each)) is not None}
        fenced = {each for each in known if known[each]}
        fenced.update(await self._worker.run(self._fenced_ones, [each for each in wanted if each not in known]))
        if fenced:
            try:
                await self._worker.run(self._deleted.add, sorted(fenced))
            except OSError as error:
                # A full disk; the others may give it room.
                log.error("ledgers that are fenced stay, since that cannot be kept: {error}", error=error)
                wanted, fenced = [each for each in wanted if each not in fenced], set()
        # What was changed meanwhile is garbage no sooner than after its flush.
        gone = [each for each in wanted if each not in self._unflushed]
        if not gone:
            return gone
        for ledger_id in gone:
            self._table.forget(ledger_id)
            self._deleted_here.add(ledger_id)
            self._runs.forget(ledger_id)
        self._pages.forget(set(gone))
        if fenced:
            self._deleted.added(sorted(fenced))
        await self.journal_deleted(gone)
        self._flusher.indexes_deleted()
        # Whatever comes of that they are gone: a replay of the journal deletes what is known of them.
        await self._worker.run(self._unremoved.remove, gone)
        return gone

    async def _remove_or_journal(self) -> None:
        """Remove what stays of indexes, or journal once more, behind the mark of a flush, that a start has to do so."""
        await self._remove_left()
        ledger_ids = self._wholly_gone()  # not those that have come meanwhile: they are in the journal before this
        self.holds_mark = bool(ledger_ids) and not await self.journal_deleted(ledger_ids)

    async def _remove_left(self) -> None:
        if ledger_ids := self._wholly_gone():
            await self._worker.run(self._unremoved.remove, ledger_ids)

    def _wholly_gone(self) -> list[int]:
        """Return the deleted ledgers whose indexes stay, and that are not here again."""
        return [each for each in self._unremoved.ledger_ids() if each not in self._unflushed]

    def _fenced_ones(self, ledger_ids: Sequence[int]) -> list[int]:
        """Return the ledgers that are fenced, and those whose index does not tell.  Blocks."""
        return [ledger_id for ledger_id in ledger_ids if self._may_be_fenced(ledger_id)]

    def _may_be_fenced(self, ledger_id: int) -> bool:
        try:
            header = self._indexes.read_header(ledger_id)
        except StorageFailed as error:
            log.warn("ledger {ledger_id} is deleted as if fenced: {error}", ledger_id=ledger_id, error=error)
            return True
        return header is None or header.fenced

    async def _finished_logs(self) -> list[LogName]:
        await self._remove_left()
        names: set[str] = await self._worker.run(self._list_finished)
        unindexed = self._flusher.unindexed_log_ids
        return [each for each in finished_names(names) if each.log_id not in unindexed]

    def _list_finished(self) -> set[str]:
        try:
            self._logs.end_dead(lambda ledger_id: self._table.has_index(ledger_id) or ledger_id in self._unflushed)
            self._deleted.expire()
        except OSError as error:
            log.warn("a log goes on, or a list of deleted ledgers stays: {error}", error=error)
        return set(self._directories.list_answering()) - self._logs.written_names

    async def _move(self, found: Sequence[PlacedRun]) -> Moved:
        if self._unflushed.snapshot is not None:
            raise FlushIncomplete("no entries are moved until a flush that has failed succeeds")
        try:
            moved: Moved = await self._worker.run(self._mover.move, found, self._table.has_index)
        except BaseException:
            # Some locations may have changed in the files.
            self._pages.forget({placed.run.ledger_id for placed in found})
            raise
        self._pages.moved(moved.pages)
        self._pieces.add(moved.pieces)
        return moved

    async def _cut_log(self, name: LogName, offset: int) -> None:
        self._require_finished(name)
        await self._worker.run(self._directories.cut, name.file_name, offset)
        self._reader.forget(name.file_name)

    async def _delete_log(self, name: LogName) -> None:
        self._require_finished(name)
        self._reader.forget(name.file_name)
        await self._worker.run(self._directories.remove, name.file_name)
        self._reader.forget(name.file_name)  # a read may have opened it meanwhile

    def _require_finished(self, name: LogName) -> None:
        if name.file_name in self._logs.written_names or name.log_id in self._flusher.unindexed_log_ids:
            raise StorageFailed(f"entry log {name.file_name} is being written")

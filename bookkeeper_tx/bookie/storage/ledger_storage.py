"""The ledger storage of a bookie: adds go to memory, flushes to entry logs and indexes, reads come from all of them.

An entry is durable here only after a flush; until then it is in the journal.  Files are written by the flush worker and
read by the read worker; all other work is done on the reactor thread, so that no lock is needed.
"""

import random
import time
from collections.abc import Callable, Container, Sequence

from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import Logger

from bookkeeper_tx.bookie.disk import Buffer, Disk
from bookkeeper_tx.bookie.journal.last_mark import LogMark
from bookkeeper_tx.bookie.space import LedgerDisks
from bookkeeper_tx.bookie.storage import limits
from bookkeeper_tx.bookie.storage.checked_pieces import PIECES_MAX, CheckedPieces
from bookkeeper_tx.bookie.storage.collection import StorageCollection
from bookkeeper_tx.bookie.storage.compaction_leftovers import clean
from bookkeeper_tx.bookie.storage.db.indexes import DbIndexes
from bookkeeper_tx.bookie.storage.db.lost_databases import refuse_lost_databases
from bookkeeper_tx.bookie.storage.deleted_ledgers import DeletedLedgers
from bookkeeper_tx.bookie.storage.entry_location import split_location
from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter
from bookkeeper_tx.bookie.storage.entry_reader import OPEN_LOGS_MAX, EntryReader
from bookkeeper_tx.bookie.storage.flush import SLICE_COUNT, Flushed, StorageFlush
from bookkeeper_tx.bookie.storage.flushes import Flushes, FlushGivenUp
from bookkeeper_tx.bookie.storage.ledger import Ledger
from bookkeeper_tx.bookie.storage.ledger_cache import LedgerCache
from bookkeeper_tx.bookie.storage.ledger_directories import LedgerDirectories
from bookkeeper_tx.bookie.storage.ledger_loader import LedgerLoader
from bookkeeper_tx.bookie.storage.ledger_table import LEDGERS_MAX, LedgerTable
from bookkeeper_tx.bookie.storage.limbo import Limbo, unless_lost
from bookkeeper_tx.bookie.storage.lost_logs import LostLogs
from bookkeeper_tx.bookie.storage.memory_reads import MemoryReads
from bookkeeper_tx.bookie.storage.read_cache import ReadCache
from bookkeeper_tx.bookie.storage.replayed_ledgers import ReplayedLedgers
from bookkeeper_tx.bookie.storage.run_loader import RunLoader
from bookkeeper_tx.bookie.storage.scrub import Scrub
from bookkeeper_tx.bookie.storage.storage_class import indexes_of
from bookkeeper_tx.bookie.storage.unflushed import Unflushed
from bookkeeper_tx.bookie.storage.unremoved_indexes import UnremovedIndexes
from bookkeeper_tx.bookie.storage.write_cache import absent_parts, run_of_records
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.entry.entry_run import EntryRun, last_add_confirmed_of
from bookkeeper_tx.errors import LedgerFenced, NoSuchLedger, Unauthorized
from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.protocol.bookie.requests import OneAdd
from bookkeeper_tx.threads.worker import Threads
from protocol_specs.disk.entry_log import NO_LOCATION
from protocol_specs.disk.ledger_index import PAGE_SIZE
from protocol_specs.entry.version import explicit_lac_of
from protocol_specs.ledger_id import SCOPED_MIN

__all__ = ["FlushGivenUp", "Ledger", "LedgerStorage"]

log = Logger()


class LedgerStorage:
    """The ledgers and entries of one bookie.

    ``disks`` has its ledger directories, the ``current`` ones, and ``index_disks`` those of the indexes, if they are
    others; ``choose`` picks one of several.  It serves after :meth:`start` and a replay of the journal
    into a :class:`~bookkeeper_tx.bookie.storage.replay_sink.StorageSink`, which ends with the sink's ``finish``.
    """

    def __init__(
        self,
        disk: Disk,
        disks: LedgerDisks,
        config: BookieConfig,
        flush_worker: Threads,
        read_worker: Threads,
        slice_count: int = SLICE_COUNT,
        time_s: Callable[[], float] = time.time,
        index_disks: LedgerDisks | None = None,
        choose: Callable[[Sequence[str]], str] = random.choice,
        sharer_count: int = 1,
    ) -> None:
        """``slice_count``: how many ledgers a flush makes durable together; ``time_s`` gives the time of day.

        ``sharer_count`` storages together keep as many ledgers, checksums and open entry logs as one.
        """
        self._directories = directories = LedgerDirectories(disk, disks, choose)
        self._all_disks = disks, index_disks or disks
        self.indexes, writer = indexes_of(disk, index_disks or disks, config, choose)
        """Where the states of ledgers are, and the locations of entries."""
        self._pieces = CheckedPieces(PIECES_MAX // sharer_count)
        self._reader = EntryReader(disk, directories, self._pieces, max(OPEN_LOGS_MAX // sharer_count, 1))
        self.scrub = Scrub(self.indexes, self._reader)
        """Looks whether entries are where the index says."""
        self._logs = EntryLogWriter(disk, directories, config.entry_log_bytes_max)
        self._pages = LedgerCache(config.index_pages_max * PAGE_SIZE)
        runs = ReadCache(config.read_cache_bytes_max)
        self._loader = RunLoader(self.indexes, self._reader, self._pages, runs, read_worker)
        self._write_cache_bytes_max = config.write_cache_bytes_max
        self._unflushed = Unflushed(config.write_cache_bytes_max, config.frame_size_max)
        ledgers_max = LEDGERS_MAX // sharer_count
        self._ledgers = LedgerTable(self.indexes, self._reader, self._unflushed.__contains__, ledgers_max)
        self.reads = MemoryReads(self._ledgers.in_memory, self._ledgers.used, self._unflushed, self._loader.find)
        self.find_reads = self.reads.find
        """Finds the entries of single reads that are in memory (:class:`MemoryReads`)."""
        self.loader = LedgerLoader(self._ledgers, self.indexes, self._pages, read_worker)
        """Brings into memory what requests need.

        Without it the methods here read ledgers from the disk themselves; entries before a ledger's last one are not
        added without it."""
        unremoved = UnremovedIndexes(writer)
        flusher = StorageFlush(self._logs, writer, unremoved, slice_count)
        self._flushes = Flushes(self._unflushed, flusher, flush_worker, self._slice_flushed)
        self._deleted = DeletedLedgers(disk, directories.paths, time_s)
        self._disk = disk
        self.replayed = ReplayedLedgers(self._unflushed, self._ledgers, self._pages, self.indexes, unremoved)
        """What the replay of the journal needs besides."""
        self.limbo = Limbo(self._unflushed, self.indexes, writer, config.data_integrity_checking)
        """The ledgers that may have lost entries here."""
        self.lost_logs = LostLogs(directories, self.indexes, writer)
        """What a start does if entry logs may be gone."""
        self.collection = StorageCollection(
            directories,
            flush_worker,
            self._flushes,
            flusher,
            self._unflushed,
            self._ledgers,
            self._deleted,
            self._logs,
            self.indexes,
            writer,
            unremoved,
            self._reader,
            self._pages,
            runs,
            self._pieces,
        )
        """The part of the storage that the garbage collector needs."""
        self.on_flush_wanted: Callable[[], None] = lambda: None
        """Called when the write cache is half full."""
        self.on_drained: Callable[[], None] = lambda: None
        """Called when storage was ``full`` and is not full any more."""
        self.on_flush_failed_changed: Callable[[], None] = lambda: None
        """Called when ``flush_failed`` has changed."""
        self._flushes.on_failed_changed = lambda: self.on_flush_failed_changed()

    def start(self) -> None:
        """Read the names in the directories and below, and clean up; blocks.  Raises OSError, RefusedToStart."""
        self.open()
        self.clean_up()

    def open(self) -> None:
        """The first half of a start: find what is here; no ledger is changed."""
        if isinstance(self.indexes, DbIndexes) and not self.lost_logs.possible:
            refuse_lost_databases(self._disk, next(iter(self._all_disks[1].spaces)), self._directories.paths)
        for directory in self._directories.paths:
            clean(self._disk, directory)
        self._logs.start()
        self._ledgers.start()

    def clean_up(self) -> None:
        """The second half: erase what is lost, if anything may be."""
        self._deleted.load()
        self.lost_logs.erase_locations(self._ledgers.ledger_ids())
        self.limbo.start()

    def stop(self) -> Deferred[None]:
        """Close all files once a flush under way has ended.  Entries that are not flushed are in the journal only."""
        return self._flushes.when_idle(self._close)

    # Ledgers ---------------------------------------------------------------------------------------------------------

    def ledger(self, ledger_id: int) -> Ledger | None:
        """Return a ledger, None if it is unknown here; raises StorageFailed if its index cannot be read."""
        return self._ledgers.find(ledger_id)

    def open_for(self, ledger_id: int, master_key: bytes, ordinary: bool = False) -> tuple[Ledger, bool]:
        """Return a ledger, made if it was unknown, and whether it was made, or has got its key now.

        ``ordinary``: it is opened for an add of another than a recovering client.  Raises Unauthorized if it has
        another key, LedgerFenced if it would be made for an ordinary add though it was deleted here, fenced, in the
        last days, BadRequest for an id or key that cannot be stored, StorageFailed.
        """
        ledger = self._ledgers.find(ledger_id)
        if ledger is None:
            was_fenced = ledger_id in self._deleted
            if was_fenced and ordinary:
                raise LedgerFenced(f"ledger {ledger_name(ledger_id)} was fenced before it was deleted")
            ledger = self._ledgers.create(ledger_id, master_key)
            ledger.fenced = was_fenced
            self._unflushed.change(ledger)
            return ledger, True
        if ledger.master_key != master_key:
            if ledger.master_key or not (ledger.limbo or ledger.keyless):
                raise Unauthorized(f"ledger {ledger_name(ledger_id)} has another password")
            # Who made it did not know the key, from metadata or from entry logs: as with Java the first wins.
            limits.check_ledger(ledger_id, master_key)
            ledger.master_key = master_key
            self._unflushed.change(ledger)
            return ledger, True
        return ledger, False

    def fence(self, ledger: Ledger) -> bool:
        """Fence a ledger; return True if it was not fenced before."""
        if ledger.fenced:
            return False
        ledger.fenced = True
        self._unflushed.change(ledger)
        return True

    def set_explicit_lac(self, ledger: Ledger, body: bytes) -> None:
        """Keep the whole body of a WRITE_LAC request, unless there is one with a higher last add confirmed.

        Raises BadRequest if it is another ledger's, or does not fit the header of the index.
        """
        last_add_confirmed = limits.explicit_last_add_confirmed(ledger, body)
        if ledger.explicit_lac is not None and last_add_confirmed < explicit_lac_of(ledger.explicit_lac)[1]:
            return
        ledger.explicit_lac = bytes(body)
        ledger.last_add_confirmed = max(ledger.last_add_confirmed, last_add_confirmed)
        self._unflushed.change(ledger)

    # Entries ---------------------------------------------------------------------------------------------------------

    def add(self, ledger: Ledger, run: EntryRun) -> list[Buffer]:
        """Take entries of ``ledger``, which was just opened; of an entry that is here already the first copy stays.

        Returns the records to be journaled before the entries are acknowledged.  Of an entry that is here these are
        those of its first copy, which may be in memory only; none, if its index has it.

        Raises BadRequest for what cannot be stored, StorageFailed if the index cannot be read.
        """
        limits.check_format(run)
        return self._add(ledger, run, self._is_indexed)

    def add_record(self, ledger: Ledger, entry_id: int, last_add_confirmed: int, record: bytes) -> Sequence[Buffer]:
        """Take one entry of ``ledger``, which was just opened: whole, of format V1, as a record after its length.

        Returns what is to be journaled, and raises, as :meth:`add`.
        """
        if not ledger.last_entry_id < entry_id <= limits.INDEXED_ENTRY_ID_MAX or ledger.ledger_id >= SCOPED_MIN:
            return self.add(ledger, run_of_records(ledger.ledger_id, entry_id, [record]))
        self._unflushed.active.add_record(ledger.ledger_id, entry_id, record)
        ledger.last_entry_id = entry_id
        if last_add_confirmed > ledger.last_add_confirmed:
            ledger.last_add_confirmed = last_add_confirmed
        self._look_at_size()
        return (record,)

    def add_at_ends(self, adds: Sequence[OneAdd], excluded: Container[int], recovery: bool) -> Sequence[int]:
        """Take those of ``adds`` that add to the end of a ledger in memory, with its key; return indexes of the others.

        Nothing is to be said of them but that they are here: :meth:`open_for` and :meth:`add_record` would do the same
        in ten calls.  Ledgers that are ``excluded`` are left alone, and fenced ones but for ``recovery``.
        """
        in_memory, add_record, others = self._ledgers.in_memory, self._unflushed.active.add_record, []
        for index, (ledger_id, entry_id, last_add_confirmed, master_key, record) in enumerate(adds):
            ledger = in_memory(ledger_id)
            if (
                ledger is None
                or ledger.master_key != master_key
                or not ledger.last_entry_id < entry_id <= limits.INDEXED_ENTRY_ID_MAX
                or (ledger.fenced and not recovery)
                or ledger_id >= SCOPED_MIN
                or ledger_id in excluded
            ):
                others.append(index)
                continue
            add_record(ledger_id, entry_id, record)
            ledger.last_entry_id = entry_id
            if last_add_confirmed > ledger.last_add_confirmed:
                ledger.last_add_confirmed = last_add_confirmed
        self._look_at_size()
        return others

    def replay(self, ledger: Ledger, run: EntryRun) -> None:
        """Take entries that were in the journal, in the place of those that this process has not written itself.

        Raises as :meth:`add`, but what is in the journal was accepted once, so its format is not looked at.
        """
        self._add(ledger, run, self._has_written)

    def _add(self, ledger: Ledger, run: EntryRun, is_indexed: Callable[[Ledger, int], bool]) -> list[Buffer]:
        """Take entries, as :meth:`add`; ``is_indexed(ledger, entry_id)`` tells what entry logs hold for good."""
        limits.check_ids(run)
        records: list[Buffer] = []
        parts = [run]
        if run.first_entry_id <= ledger.last_entry_id:
            parts = absent_parts(run, lambda entry_id: self._is_stored(ledger, entry_id, is_indexed, records))
        for part in parts:
            self._unflushed.add(part)
            records.append(part.records(part.first_entry_id, part.count))
        ledger.last_entry_id = max(ledger.last_entry_id, run.last_entry_id)
        ledger.last_add_confirmed = max(ledger.last_add_confirmed, last_add_confirmed_of(run))
        self._look_at_size()
        return records

    def _look_at_size(self) -> None:
        unflushed = self._unflushed
        if not unflushed.flush_asked and unflushed.active.size_bytes * 2 >= self._write_cache_bytes_max:
            unflushed.flush_asked = True
            self.on_flush_wanted()

    def cached_run(self, ledger_id: int, entry_id: int) -> EntryRun | None:
        """Return a run that holds the entry, if one is in memory."""
        run = self._unflushed.find(ledger_id, entry_id)
        return self._loader.find(ledger_id, entry_id) if run is None else run

    def unflushed_ranges(self, ledger_id: int) -> list[range]:
        """Return the ids of the entries that are not in the index yet; some of them may be in it already."""
        return self._unflushed.ranges(ledger_id)

    def indexed_ranges(self, ledger_id: int, first_page: int, page_count: int) -> list[range]:
        """Return the ids of the entries in some pages of the index, ascending.  Blocks; raises StorageFailed."""
        return self.indexes.ranges(ledger_id, first_page, page_count) if self._ledgers.has_index(ledger_id) else []

    def next_indexed_page(self, ledger_id: int, page: int) -> int | None:
        """Return the first page of the index from this one on that may have entries.  Blocks; raises StorageFailed."""
        return self.indexes.next_page(ledger_id, page) if self._ledgers.has_index(ledger_id) else None

    def load_run(self, ledger_id: int, entry_id: int) -> Deferred[EntryRun]:
        """Fire with a run that holds the entry: from memory, or from the entry logs, together with later entries.

        Fails with NoSuchLedger, NoSuchEntry, with UnknownLedgerState for an entry that may have been lost, or with
        StorageFailed for one that is stored but cannot be read.
        """
        run = self.cached_run(ledger_id, entry_id)
        if run is not None:
            return succeed(run)
        try:
            ledger = self._ledgers.find(ledger_id)
        except Exception:
            return fail()
        if ledger is None:
            return fail(NoSuchLedger(f"there is no ledger {ledger_name(ledger_id)} here"))
        return unless_lost(ledger, self._loader.load(ledger, entry_id))

    # Flush -----------------------------------------------------------------------------------------------------------

    @property
    def full(self) -> bool:
        """Whether the write cache is full, together with what is left of the one that is being flushed."""
        return self._unflushed.full

    @property
    def disk_full(self) -> bool:
        """Whether a disk of it is so full that only adds of high priority are taken."""
        return any(disks.read_only for disks in self._all_disks)

    @property
    def write_cache_bytes(self) -> tuple[int, int]:
        """The bytes of the write cache, with what is left of the one that is flushed, and how many they may be."""
        return self._unflushed.size_bytes, self._unflushed.size_bytes_max

    @property
    def read_cache_bytes(self) -> int:
        """The bytes of entries that were read ahead."""
        return self._loader.read_cache_bytes

    @property
    def load_count(self) -> int:
        """Reads since the start of entries that were in no cache."""
        return self._loader.load_count

    @property
    def ledger_count(self) -> int:
        """Ledgers with an index file; takes a while if they are many."""
        return len(self._ledgers)

    @property
    def entry_count(self) -> int | None:
        """Entries that have a location in the index, more or less; None if that is not known (:class:`Indexes`)."""
        return self.indexes.estimated_entry_count()

    @property
    def flush_failed(self) -> bool:
        """Whether the last flush failed: the disk is full or broken."""
        return self._flushes.failed

    @property
    def flush_unfinished(self) -> bool:
        """Whether there is something left of a flush, which the next one begins with."""
        return self._unflushed.snapshot is not None

    @property
    def holds_mark(self) -> bool:
        """Whether the mark must stay where it is, though a flush has ended well."""
        return self.collection.holds_mark

    @property
    def dirty(self) -> bool:
        """Whether any change, even a fence, is in memory and journal only."""
        return bool(self._unflushed)

    def flush(self, mark_of: Callable[[], LogMark]) -> Deferred[LogMark]:
        """Make the present state durable; fires with the journal's mark, sampled before that state.

        ``mark_of`` returns the mark.  What is durable leaves the memory slice by slice; the mark comes when all is.
        After a failure all entries are still here and can be read, and the next flush starts with what is left of the
        same snapshot; so its mark is that of the first attempt.
        """
        return self._flushes.run(mark_of)

    def give_up_flush(self) -> None:
        """End a flush under way, and any later one, soon: with FlushGivenUp, and with the rest in the journal."""
        self._flushes.give_up()

    def flush_now(self) -> None:
        """Flush on this thread: for the replay, during which nothing else runs.  Raises OSError."""
        self._flushes.run_now()

    def _slice_flushed(self, flushed: Flushed) -> None:
        """Have the files answer for these ledgers from now on."""
        was_full = self.full
        self._pages.flushed(flushed.pages, self._ledgers.last_indexed_id)
        self._pieces.add(flushed.pieces)
        for ledger_id in flushed.ledger_ids:
            self._ledgers.indexed(ledger_id, self._unflushed.last_flushing_id(ledger_id))
        self._unflushed.flushed(flushed.ledger_ids)
        if was_full and not self.full:
            self.on_drained()

    def _close(self) -> None:
        self._logs.close()
        self.indexes.close()
        self._reader.close()

    def _is_stored(
        self, ledger: Ledger, entry_id: int, is_indexed: Callable[[Ledger, int], bool], copies: list[Buffer]
    ) -> bool:
        """Tell whether an entry is here; the record of one that is not flushed is appended to ``copies``."""
        run = self._unflushed.find(ledger.ledger_id, entry_id)
        if run is None:
            return is_indexed(ledger, entry_id)
        copies.append(run.records(entry_id, 1))
        return True

    def _is_indexed(self, ledger: Ledger, entry_id: int) -> bool:
        return entry_id <= ledger.last_indexed_id and self._pages.has_location(ledger.ledger_id, entry_id)

    def _has_written(self, ledger: Ledger, entry_id: int) -> bool:
        """Tell whether this process has put the entry into an entry log.  Blocks; raises StorageFailed."""
        location = NO_LOCATION if entry_id > ledger.last_flushed_id else self._loader.location(ledger, entry_id)
        return location != NO_LOCATION and split_location(location)[0] >= self._logs.first_log_id

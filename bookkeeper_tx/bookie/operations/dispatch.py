"""From a request to the operation that serves it, and the brakes on requests that wait for the disks."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from attrs import frozen
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from bookkeeper_tx.bookie.availability import Availability
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.journals import AnyJournal
from bookkeeper_tx.bookie.operations import request_context
from bookkeeper_tx.bookie.operations.add_entry import AddEntry
from bookkeeper_tx.bookie.operations.batch_read import BatchRead
from bookkeeper_tx.bookie.operations.bookie_info import BookieInfo
from bookkeeper_tx.bookie.operations.brake import Brake, Load
from bookkeeper_tx.bookie.operations.cold_ledgers import ColdLedgers
from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.operations.counts import Counts
from bookkeeper_tx.bookie.operations.fencing import Fencing
from bookkeeper_tx.bookie.operations.force_ledger import ForceLedger
from bookkeeper_tx.bookie.operations.lac_watch import LacWatch
from bookkeeper_tx.bookie.operations.last_add_confirmed import ReadLac, WriteLac
from bookkeeper_tx.bookie.operations.ledger_keys import LedgerKeys
from bookkeeper_tx.bookie.operations.list_entries import ListEntries
from bookkeeper_tx.bookie.operations.long_poll import LongPoll
from bookkeeper_tx.bookie.operations.read_entry import ReadEntry
from bookkeeper_tx.bookie.operations.stored_runs import StoredRuns
from bookkeeper_tx.bookie.storage.several.storages import AnyStorage
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.protocol.bookie import v2, v2_mixed, v3, v3_batch_read, v3_mixed
from bookkeeper_tx.protocol.bookie.requests import Continuation, InContext, Request
from bookkeeper_tx.threads.worker import Threads

Serve = Callable[[Any, Connection], None]

Measured = Callable[[str, Serve], Serve]
"""Puts what measures around serving requests of the operation with this name, which is Java's, or MIXED_READS."""

MIXED_READS: Final = "mixed reads"
"""Single reads of several ledgers, answered at once as far as they are in memory, and else by parts of the request."""


@frozen
class RequestCounts:
    """How many requests there were, and are."""

    adds: Counts
    reads: Counts
    batch_entries: int
    """Entries in the replies to batch reads."""
    held_adds: int
    """Adds that are held back until the disks catch up, runs of them as one."""
    reads_in_progress: int
    """Reads that wait for the disk, or for those."""
    waiting_reads: int
    """Those that wait for others of their client."""
    adds_at_once: bool
    """Whether adds are answered without the journal, which does not know how many there were then."""


log = Logger()


class Dispatch:
    """Serves the requests of all clients, each by the operation that it names."""

    def __init__(
        self,
        config: BookieConfig,
        disk: Disk,
        storage: AnyStorage,
        journal: AnyJournal,
        availability: Availability,
        clock: IReactorTime,
        read_worker: Threads,
        measured: Measured = lambda name, serve: serve,
    ) -> None:
        """Make the operations."""
        keys = LedgerKeys(storage)
        watch = self.watch = LacWatch(
            clock, config.long_poll_timeout_max_s, config.long_polls_per_connection_max, config.long_polls_max
        )
        # While flushes fail the cache stays full; then adds are refused, and need not be held back.
        load = self._load = Load(
            journal, config.connection_requests_bytes_max, lambda: storage.full and not availability.cannot_write
        )
        held_bytes_max = config.held_bytes_per_connection_max, config.held_bytes_max
        self._brake = Brake(load.of_disks, *held_bytes_max)
        self._journal_brake = Brake(load.of_journal, *held_bytes_max)
        journal.on_group_done = self.look_again
        fencing = Fencing(storage, journal, keys, watch, self._journal_brake)
        self._storage = storage
        runs = self._runs = StoredRuns(storage, config.reads_bytes_per_connection_max, config.reads_bytes_max)
        cold = self._cold = ColdLedgers(storage)
        force = ForceLedger(journal)
        adding = AddEntry(storage, journal, keys, availability, force, watch, config.journal_data_written)
        self._adding = adding
        add = _braked(self._brake, cold.before_adds(adding.serve))
        add_mixed = _braked(self._brake, cold.before_mixed_adds(adding.serve_mixed))
        writing_lac = cold.before(WriteLac(storage, journal, keys, availability, watch).serve)
        write_lac = measured("WRITE_LAC", _braked(self._journal_brake, writing_lac))
        reading = self._reading = ReadEntry(storage, runs, fencing)
        read = measured("READ_ENTRY", cold.before(reading.serve))
        read_mixed = measured(MIXED_READS, cold.before_mixed_reads(reading.serve_mixed))
        # A batch larger than the frame limit would end the connection of the client that asked for it.
        frame_size_max = config.frame_size_max
        batch_size_max = min(config.batch_read_size_max, frame_size_max)
        entry_size_max = frame_size_max - v3_batch_read.reply_overhead_max(frame_size_max)
        v3_batch_size_max = min(batch_size_max, entry_size_max)
        self._batch_reading = (
            BatchRead(storage, runs, fencing, watch, batch_size_max),
            BatchRead(storage, runs, fencing, watch, v3_batch_size_max, entry_size_max),
        )
        self._operations: dict[type[Any], Serve] = {
            v2.AddRequests: add,
            v3.AddRequests: add,
            v2_mixed.MixedAddRequests: add_mixed,
            v3_mixed.MixedAddRequests: add_mixed,
            v2.ReadRequests: read,
            v3.ReadRequests: read,
            v2_mixed.MixedReadRequests: read_mixed,
            v3_mixed.MixedReadRequests: read_mixed,
            v3.LongPollRequest: measured("READ_ENTRY_LONG_POLL", cold.before(LongPoll(storage, runs, watch).serve)),
            v2.BatchReadRequest: measured("BATCH_READ_ENTRY", cold.before(self._batch_reading[0].serve)),
            v3.BatchReadRequest: measured("BATCH_READ_ENTRY", cold.before(self._batch_reading[1].serve)),
            v3.WriteLacRequest: write_lac,
            v3.ReadLacRequest: measured("READ_LAC", cold.before(ReadLac(storage, runs).serve)),
            v3.BookieInfoRequest: measured(
                "GET_BOOKIE_INFO", BookieInfo(disk, config.ledger_directories, read_worker).serve
            ),
            v3.ForceLedgerRequest: measured("FORCE_LEDGER", force.serve),
            v3.ListEntriesRequest: measured(
                "GET_LIST_OF_ENTRIES_OF_LEDGER",
                cold.before(ListEntries(storage, runs, read_worker, frame_size_max).serve),
            ),
            InContext: self._serve_in_context,
            Continuation: lambda continuation, _: continuation.go_on(),
        }

    def serve(self, request: Request, connection: Connection) -> None:
        """Serve one request or run of requests."""
        self._operations[type(request)](request, connection)

    def _serve_in_context(self, request: InContext, connection: Connection) -> None:
        connection.observe(request.request, request_context.logged(connection, request.context))
        try:
            self.serve(request.request, connection)
        except Exception:
            log.error("a request was not served; its context: {context!r}", context=request.context)
            raise

    def memory(self) -> dict[str, tuple[int, int]]:
        """Return the bytes of requests that wait and of the write cache, and how many may be, by kind."""
        load, adds, others, reads = self._load, self._brake, self._journal_brake, self._runs
        loads = self._cold.room
        return {
            "queued": (load.queued_bytes, load.queued_bytes_max),
            "held_adds": (adds.held_bytes, adds.total_bytes_max),
            "held_fences": (others.held_bytes, others.total_bytes_max),
            "reads": (reads.held_bytes, reads.bytes_max),
            "loads": (loads.bytes, loads.bytes_max),
            "write_cache": self._storage.write_cache_bytes,
        }

    def counts(self) -> RequestCounts:
        """Return how many requests there were since the start, and how many wait."""
        runs = self._runs
        return RequestCounts(
            self._adding.counts,
            self._reading.counts,
            sum(batch_read.counts.succeeded for batch_read in self._batch_reading),
            self._brake.held_count,
            runs.load_count,
            runs.waiting_count,
            not self._adding.journals_entries,
        )

    def look_again(self) -> None:
        """Serve the held requests if storage and journal have room again; called when either may have."""
        self._journal_brake.look_again()
        self._brake.look_again()


def _braked(brake: Brake, serve: Serve) -> Serve:
    """Return ``serve`` with ``brake`` before it."""

    def serve_or_hold(request: Any, connection: Connection) -> None:
        if brake.holds(connection):
            brake.hold(connection, request.content_bytes, partial(serve, request, connection))
        else:
            serve(request, connection)

    return serve_or_hold

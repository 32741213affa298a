"""From a request to the operation that serves it, and the brake on clients that send faster than the disks take."""

from collections.abc import Callable
from typing import Any, Protocol

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from bookkeeper_tx.bookie.availability import Availability
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.journal import Journal
from bookkeeper_tx.bookie.operations import request_context
from bookkeeper_tx.bookie.operations.add_entry import AddEntry
from bookkeeper_tx.bookie.operations.batch_read import BatchRead
from bookkeeper_tx.bookie.operations.bookie_info import BookieInfo
from bookkeeper_tx.bookie.operations.connection import Connection
from bookkeeper_tx.bookie.operations.fencing import Fencing
from bookkeeper_tx.bookie.operations.force_ledger import ForceLedger
from bookkeeper_tx.bookie.operations.lac_watch import LacWatch
from bookkeeper_tx.bookie.operations.last_add_confirmed import ReadLac, WriteLac
from bookkeeper_tx.bookie.operations.ledger_keys import LedgerKeys
from bookkeeper_tx.bookie.operations.list_entries import ListEntries
from bookkeeper_tx.bookie.operations.long_poll import LongPoll
from bookkeeper_tx.bookie.operations.read_entry import ReadEntry
from bookkeeper_tx.bookie.operations.stored_runs import StoredRuns
from bookkeeper_tx.bookie.storage.ledger_storage import LedgerStorage
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.protocol.bookie import v2, v2_mixed, v3, v3_batch_read, v3_mixed
from bookkeeper_tx.protocol.bookie.requests import Continuation, InContext, Request
from bookkeeper_tx.threads.worker import Threads

Serve = Callable[[Any, Connection], None]

log = Logger()


class Brake(Protocol):
    """What stops and lets go all clients: the factory of their connections."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...


class Dispatch:
    """Serves the requests of all clients, each by the operation that it names."""

    def __init__(
        self,
        config: BookieConfig,
        disk: Disk,
        storage: LedgerStorage,
        journal: Journal,
        availability: Availability,
        clock: IReactorTime,
        read_worker: Threads,
        measured: Callable[[Serve], Serve] = lambda serve: serve,
    ) -> None:
        """Make the operations; ``measured`` puts what counts batch reads around serving them."""
        keys = LedgerKeys(storage)
        watch = self.watch = LacWatch(clock, config.long_poll_timeout_max_s, config.long_polls_per_connection_max)
        fencing = Fencing(storage, journal, keys, watch)
        runs = StoredRuns(storage)
        force = ForceLedger(journal)
        settled = self.look_again
        adding = AddEntry(storage, journal, keys, availability, settled, force, watch)
        add, add_mixed = self._braked(adding.serve), self._braked(adding.serve_mixed)
        write_lac = self._braked(WriteLac(storage, journal, keys, availability, settled, watch).serve)
        reading = ReadEntry(storage, runs, fencing)
        # A larger batch than the frame limit would kill the connection of whoever asked for it.
        frame_size_max = config.frame_size_max
        batch_size_max = min(config.batch_read_size_max, frame_size_max)
        entry_size_max = frame_size_max - v3_batch_read.reply_overhead_max(frame_size_max)
        v3_batch_size_max = min(batch_size_max, entry_size_max)
        self._operations: dict[type[Any], Serve] = {
            v2.AddRequests: add,
            v3.AddRequests: add,
            v2_mixed.MixedAddRequests: add_mixed,
            v3_mixed.MixedAddRequests: add_mixed,
            v2.ReadRequests: reading.serve,
            v3.ReadRequests: reading.serve,
            v2_mixed.MixedReadRequests: reading.serve_mixed,
            v3_mixed.MixedReadRequests: reading.serve_mixed,
            v3.LongPollRequest: LongPoll(storage, runs, watch).serve,
            v2.BatchReadRequest: measured(BatchRead(storage, runs, fencing, watch, batch_size_max).serve),
            v3.BatchReadRequest: measured(
                BatchRead(storage, runs, fencing, watch, v3_batch_size_max, entry_size_max).serve
            ),
            v3.WriteLacRequest: write_lac,
            v3.ReadLacRequest: ReadLac(storage, runs).serve,
            v3.BookieInfoRequest: BookieInfo(disk, config.ledger_directory).serve,
            v3.ForceLedgerRequest: force.serve,
            v3.ListEntriesRequest: ListEntries(storage, read_worker, frame_size_max).serve,
            InContext: self._serve_in_context,
            Continuation: lambda continuation, _: continuation.go_on(),
        }
        self._storage = storage
        self._journal = journal
        self._queued_bytes_max = config.connection_requests_bytes_max
        self._availability = availability
        self._braking = False
        self.brake: Brake | None = None
        """Set once there are clients to stop."""

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

    def look_again(self) -> None:
        """Let the clients go on if storage and journal have room again; called when either may have."""
        if self._braking and not self._overloaded(self._queued_bytes_max // 2):
            self._braking = False
            log.debug("reading from clients again")
            if self.brake is not None:
                self.brake.resume()

    def _braked(self, serve: Serve) -> Serve:
        """Return ``serve`` with a look at the load after each request."""

        def serve_and_look(request: Any, connection: Connection) -> None:
            serve(request, connection)
            if not self._braking and self._overloaded(self._queued_bytes_max):
                self._braking = True
                log.debug("reading from no client until the disks catch up")
                if self.brake is not None:
                    self.brake.pause()

        return serve_and_look

    def _overloaded(self, queued_bytes_max: int) -> bool:
        # While flushes fail the cache stays full; then adds are refused, and reads must go on.
        full = self._storage.full and not self._availability.cannot_write
        return full or self._journal.queued_bytes > queued_bytes_max

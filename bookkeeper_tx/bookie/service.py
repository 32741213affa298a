"""A bookie from start to stop: everything is made and connected here (docs/architecture.md).

Each step of the start notes what undoes it; a stop, at whatever step, undoes what was done, last step first.
"""

import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from twisted.application.service import Service
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.bookie import descriptors
from bookkeeper_tx.bookie.bookie import Bookie, Workers
from bookkeeper_tx.bookie.directories import Directories
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.garbage.collector import GarbageCollector
from bookkeeper_tx.bookie.garbage.collectors import GarbageCollectors
from bookkeeper_tx.bookie.garbage.lost_indexes import refuse_lost_indexes, refuse_passed_over
from bookkeeper_tx.bookie.identity import Identity
from bookkeeper_tx.bookie.integrity.run_note import RunNote
from bookkeeper_tx.bookie.listening import BACKLOG, Address, bind
from bookkeeper_tx.bookie.registration import Registration, advertised
from bookkeeper_tx.bookie.scrubber import Scrubber
from bookkeeper_tx.bookie.storage.db.indexes import DbIndexes
from bookkeeper_tx.bookie.storage.db.location_compaction import LocationCompaction
from bookkeeper_tx.bookie.storage.several.storages import storages_of
from bookkeeper_tx.config import BookieConfig
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.metadata.service_info import check_bookie_id
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.model import BookieId, BookieServiceInfo
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.threads.worker import Worker
from bookkeeper_tx.transport.bookie_factory import BookieFactory
from bookkeeper_tx.transport.bookie_security import Security
from bookkeeper_tx.transport.client_budget import ClientBudget, ClientLimits

if TYPE_CHECKING:
    from bookkeeper_tx.bookie.http.service import HttpServer
    from bookkeeper_tx.bookie.integrity.integrity import Integrity

READ_THREADS = 2
"""Threads that read entries from the disk; more help only where reads wait for the disk and not for the interpreter."""

log = Logger()


def _print(line: str) -> None:
    # twistd has put its log in the place of sys.stdout.  Programs wait for this line, so it must come without a prefix.
    print(line, file=sys.__stdout__, flush=True)


def _print_error(line: str) -> None:
    print(line, file=sys.__stderr__, flush=True)


class BookieService(Service):
    """A bookie.  It starts with the reactor; when it cannot, or has to stop, it says why and stops the reactor.

    ``tell`` is given the line that says where it listens, ``tell_error`` why it stops.  ``store``, ``bind``,
    ``make_threads``, ``clock``, ``chance`` and ``journal_arguments`` are for tests: another metadata store, network,
    threads, time of day and chance.
    """

    name = "bookie"

    def __init__(
        self,
        config: BookieConfig,
        reactor: Any,
        disk: Disk | None = None,
        tell: Callable[[str], None] = _print,
        tell_error: Callable[[str], None] = _print_error,
        store: MetadataStore | None = None,
        bind: Callable[[BookieConfig, str | None], Address] = bind,
        make_threads: Callable[[Any, str, int], Worker] = Worker,
        clock: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
        **journal_arguments: Any,
    ) -> None:
        self.failed = False
        """Whether it stops, or has stopped, for any other reason than that it was told to."""
        self.address: Address | None = None
        """Where it listens, once it does."""
        self.memory: Callable[[], Mapping[str, tuple[int, int]]] = dict
        """Gives the bytes in use of each budget and how many may be, by name; none before it starts to serve."""
        self.collector: GarbageCollectors | None = None
        """The garbage collector, once it has started; a bookie on a read-only file system has none."""
        self._config = config
        self._reactor = reactor
        self._disk = disk or Disk()
        self._tell = tell
        self._tell_error = tell_error
        self._store = store or open_metadata_store(
            config.metadata_uri, reactor, config.metadata_timeout_s, config.metadata_security
        )
        self._bind = bind
        self._make_threads = make_threads
        self._clock = clock
        self._chance = chance
        self._journal_arguments = journal_arguments
        self._starting: Deferred[None] | None = None
        self._metrics: Any = None
        """The metrics, if they are served."""
        self._http: HttpServer | None = None
        self._workers: dict[str, Worker] = {}
        self._undo: list[Callable[[], Any]] = []

    # Lifecycle -------------------------------------------------------------------------------------------------------

    def startService(self) -> None:
        super().startService()  # type: ignore[no-untyped-call]
        # Threads and sockets are made once the reactor runs: by then twistd has made its daemon.
        self._reactor.callWhenRunning(self._begin)

    def stopService(self) -> Deferred[None]:
        """Serve no more, make everything durable, give up the registration; fires when all is done."""
        super().stopService()  # type: ignore[no-untyped-call]
        return Deferred.fromCoroutine(self._stop())

    def _begin(self) -> None:
        if self.running:
            self._starting = Deferred.fromCoroutine(self._start())
            self._starting.addErrback(self._not_started)

    def _not_started(self, failure: Failure) -> None:
        if not isinstance(failure.value, CancelledError):
            assert failure.value is not None
            self._fail(failure.value)

    def _fail(self, error: BaseException) -> None:
        """Stop the process with a failure's exit code."""
        if self.failed:
            return
        self.failed = True
        self._tell_error(f"bookie: {error}")
        if isinstance(error, BookKeeperError | OSError):
            log.critical("the bookie stops: {error}", error=error)
        else:
            log.failure("the bookie stops", Failure(error))  # type: ignore[no-untyped-call]
        if self._reactor.running:
            self._reactor.stop()

    async def _stop(self) -> None:
        if self._starting is not None:
            self._starting.cancel()
        if self._http is not None:
            self._http.stopping()
        while self._undo:
            undo = self._undo.pop()
            try:
                await _fired(undo())
            except Exception as error:
                self.failed = True
                self._tell_error(f"bookie: while stopping: {error}")

    # Start -----------------------------------------------------------------------------------------------------------

    async def _start(self) -> None:
        self._config = descriptors.shared_out(self._config, descriptors.raise_limit())
        config, disk = self._config, self._disk
        security = self._security()  # first: it refuses a configuration before a file is touched
        directories = Directories.of(disk, config)
        directories.open()
        self._undo.append(directories.close)
        address = self._bind(config, directories.former_id)
        self._undo.append(address.listening.close)
        check_bookie_id(address.bookie_id)  # before a cookie ties the directories to a name that cannot be
        self._undo.append(self._store.stop)
        identity = Identity(config, self._store, directories, address.bookie_id)
        await identity.establish()
        bookie = self._bookie(directories)
        self._serve_http(address, directories, bookie, identity)
        connection = partial(ServerConnection, config.frame_size_max, config.serves_batch_read)
        budget = ClientBudget(ClientLimits.of(config), self._reactor)
        factory = BookieFactory(connection, bookie.dispatch.serve, security, budget)
        bookie.answer_within(factory.sending)
        self.memory = lambda: {**bookie.dispatch.memory(), **budget.memory()}
        self._show_budgets(budget)
        self._undo.append(factory.disconnect_all)
        self._undo.append(lambda: Deferred.fromCoroutine(bookie.stop()))
        integrity = await self._started(bookie, directories, identity, address.bookie_id)
        self._listen(address, factory)
        extensions = advertised(config, serves_tls=config.tls is not None)
        http = None if self._http is None else self._http.address
        info = BookieServiceInfo(address.host, address.port, extensions=extensions, http=http)
        registration = Registration(
            self._reactor, self._store, address.bookie_id, info, bookie.availability, self._fail
        )
        self._undo.append(registration.stop)
        await registration.start()
        if integrity is not None:
            self._undo.append(integrity.stop)
            await integrity.start()
        if not directories.read_only:
            self._collect_garbage(bookie, address.bookie_id, identity.instance_id)
        self._scrub(bookie)
        self.address = address
        if self._http is not None:
            self._http.serving()
        log.info("serving as {bookie_id}", bookie_id=address.bookie_id)
        self._tell(f"bookie {address.bookie_id} listening on {config.listen}:{address.port}")

    def _security(self) -> Security:
        config, tls = self._config, None
        if config.tls is not None:
            # Only here, because it needs pyOpenSSL.
            from bookkeeper_tx.transport.tls import ServerTls

            tls = ServerTls(config.tls, self._reactor)
        return Security(config.auth, tls, self._reactor, config.handshake_timeout_s)

    async def _started(
        self, bookie: Bookie, directories: Directories, identity: Identity, bookie_id: BookieId
    ) -> "Integrity | None":
        """Start the bookie, with its ledgers marked if entries may be lost; return what copies these then."""
        if not self._config.data_integrity_checking:
            note = RunNote(self._disk, [*directories.ledgers, *directories.indexes], self._config.journal_data_written)
            tells_of_loss = note.tells_of_loss()
            # After a kill without entries in the journal there may be some of which neither index nor journal knows.
            if self._config.journal_data_written or not tells_of_loss:
                self._refuse_losses(bookie, directories, bookie_id)
            await bookie.start()
            if not directories.read_only:
                if not tells_of_loss:
                    bookie.on_clean_stop = note.remove
                self._note_run(note)
            return None
        # Only here, because it has a client.
        from bookkeeper_tx.bookie.integrity.integrity import Integrity

        workers, storage = (self._workers["read"], self._workers["flush"]), bookie.parts.storage
        integrity = Integrity(self._reactor, self._config, self._disk, self._store, bookie_id, storage, *workers)
        integrity.before_replay(directories, identity.lost)
        if not integrity.loss_known:
            self._refuse_losses(bookie, directories, bookie_id)
        bookie.on_clean_stop = integrity.stopped_cleanly
        await bookie.start()
        await integrity.before_serving()
        await identity.stamp()
        return integrity

    def _refuse_losses(self, bookie: Bookie, directories: Directories, bookie_id: BookieId) -> None:
        """Have a start refused that would give up what is here of ledgers without an index."""
        bookie.on_unindexed = partial(self._refuse_lost_indexes, bookie, directories, bookie_id)
        bookie.on_passed_over = partial(self._refuse_passed_over, bookie, bookie_id)

    async def _refuse_passed_over(self, bookie: Bookie, bookie_id: BookieId, ledger_ids: Sequence[int]) -> None:
        """Refuse a start that would give up entries, unless all ledgers are marked that are not here."""
        if not await self._workers["read"].run(bookie.parts.storage.limbo.needs_check):
            await refuse_passed_over(self._store, bookie_id, ledger_ids)

    async def _refuse_lost_indexes(self, bookie: Bookie, directories: Directories, bookie_id: BookieId) -> None:
        """Refuse a start that would know none of the ledgers in the entry logs."""
        storage = bookie.parts.storage
        await refuse_lost_indexes(
            self._disk,
            directories.ledgers,
            lambda ledger_id: storage.ledger(ledger_id) is not None,
            self._workers["read"],
            self._store,
            bookie_id,
        )

    def _note_run(self, note: RunNote) -> None:
        """Note that a bookie runs which does not check its data: a later start may, and what a kill has lost is lost.

        So the note of an earlier kill stays, also after a clean stop.
        """
        try:
            note.write()
        except OSError as error:
            log.error("if the bookie is killed nobody will know that entries are lost: {error}", error=error)

    def _worker(self, name: str, threads: int = 1) -> Worker:
        worker = self._workers[name] = self._make_threads(self._reactor, name, threads)
        self._undo.append(worker.stop)
        return worker

    def _bookie(self, directories: Directories) -> Bookie:
        workers = Workers(self._worker("journal"), self._worker("flush"), self._worker("read", READ_THREADS))
        config = self._config
        bookie = partial(
            Bookie,
            self._disk,
            directories.journal,
            directories.ledgers[0],
            config,
            self._reactor,
            workers,
            self._fail,
            check_directories=directories.check,
            read_only=directories.read_only,
            more_journals=[
                (directory, self._worker(f"journal-{index}"))
                for index, directory in enumerate(directories.more_journals, 1)
            ],
            more_ledgers=directories.ledgers[1:],
            indexes=directories.indexes,
            clock=self._clock,
            **self._journal_arguments,
        )
        if not config.http_server_enabled:
            return bookie()
        # Only here: a bookie without metrics needs no web server.
        from bookkeeper_tx.bookie.metrics.metrics import Metrics

        metrics = self._metrics = Metrics(time.perf_counter)
        made = bookie(measured=metrics.measured)
        metrics.watch(made.parts, self._workers, READ_THREADS, config.connection_requests_bytes_max)
        metrics.is_serving = lambda: self.address is not None and bool(self.running)
        return made

    def _collect_garbage(self, bookie: Bookie, bookie_id: BookieId, instance_id: str | None) -> None:
        worker, named = self._worker("garbage"), (bookie_id, instance_id, self._clock)
        of_store = partial(GarbageCollector, self._reactor, self._disk, self._config, self._store)
        homes, count = zip(bookie.collections, bookie.disks.homes, strict=True), len(bookie.disks.homes)
        collector = self.collector = GarbageCollectors(
            [of_store(collection, worker, disks, *named, sharer_count=count) for collection, disks in homes]
        )
        self._undo.append(collector.stop)
        bookie.on_disk_full = collector.disk_filled
        collector.start()
        if self._http is not None:
            self._metrics.garbage = lambda: collector.status
            self._http.bookie.garbage = collector

    def _scrub(self, bookie: Bookie) -> None:
        """Look now and then whether the entries are where they should be, if that is switched on."""
        if self._config.local_scrub_interval_s > 0:
            thread = self._worker("scrub")
            storage = bookie.parts.storage
            scrubber = Scrubber(self._reactor, self._config, storage, thread, self._fail, self._chance)
            self._undo.append(scrubber.stop)
            scrubber.start()
            if self._metrics is not None:
                self._metrics.scrub.watch(scrubber)

    def _serve_http(self, address: Address, directories: Directories, bookie: Bookie, identity: Identity) -> None:
        """Serve the HTTP API, if that is switched on: also while the bookie starts, since is_ready is asked then."""
        if self._config.http_server_enabled:
            from bookkeeper_tx.bookie.http.service import HttpServer

            threads = self._worker("http")
            self._http = HttpServer(
                self._reactor,
                self._config,
                address=address,
                disk=self._disk,
                journal_directories=[directories.journal, *directories.more_journals],
                ledger_directories=directories.ledgers,
                index_directories=directories.indexes,
                store=self._store,
                availability=bookie.availability,
                threads=threads,
                metrics=self._metrics.text,
                check_cookies=partial(identity.check, threads.run),
                **self._entry_locations(bookie),
            )
            self._undo.append(self._http.stop)

    def _entry_locations(self, bookie: Bookie) -> dict[str, LocationCompaction]:
        """Return what compacts databases of locations, if there are any, on a thread that no other request waits for.

        The thread ends after the databases are closed, which ends a compaction.
        """
        indexes = [each.indexes for each in storages_of(bookie.parts.storage)]
        databases = [each for each in indexes if isinstance(each, DbIndexes)]
        if not databases:
            return {}
        return {"locations": LocationCompaction(databases, self._worker("location-compaction"))}

    def _show_budgets(self, clients: ClientBudget) -> None:
        """Serve the budgets with the other metrics, if these are served."""
        if self._metrics is not None:
            from bookkeeper_tx.bookie.metrics.budgets import BudgetMetrics

            self._metrics.registry.register(BudgetMetrics(self.memory, clients))

    def _listen(self, address: Address, factory: BookieFactory) -> None:
        address.listening.listen(BACKLOG)
        port = self._reactor.adoptStreamPort(address.listening.fileno(), address.listening.family, factory)
        address.listening.close()  # the reactor has a duplicate

        def stop_listening() -> Any:
            factory.pause()
            return port.stopListening()

        self._undo.append(stop_listening)


async def _fired(result: Any) -> Any:
    """Return ``result``, or what it fires with."""
    return await result if isinstance(result, Deferred) else result

"""The metadata store in an SQLite file: the embedded default, for any number of processes on one machine."""

import secrets
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import Logger

from bookkeeper_tx.errors import MetadataError, MetadataUnavailable
from bookkeeper_tx.metadata import service_info
from bookkeeper_tx.metadata.documents import DocumentPath
from bookkeeper_tx.metadata.sqlite.errors import translated
from bookkeeper_tx.metadata.sqlite.polling import Polling
from bookkeeper_tx.metadata.sqlite.records import SqliteRecords
from bookkeeper_tx.metadata.watches import BOOKIES, Watches
from bookkeeper_tx.model import BookieId, BookieServiceInfo, LedgerMetadata, Replication, Versioned, check_ledger_id
from bookkeeper_tx.threads.worker import Worker


class SqliteMetadataStore:
    """The store in the file at ``path``; the lock files of the bookies are in ``path + ".bookies"``.

    All blocking work is done on one thread of its own, in the order of the calls.
    """

    _log = Logger()

    def __init__(
        self,
        path: str,
        reactor: Any,
        make_worker: Callable[[Any, str], Any] = Worker,
        draw_token: Callable[[int], int] = secrets.randbits,
    ) -> None:
        self.path = path
        self._reactor = reactor
        self._make_worker = make_worker
        self._worker: Any = None
        self._stopped = False
        self._records = SqliteRecords(path, draw_token=draw_token)
        self._tables = self._records.tables
        self._watches = Watches(self._log.failure)
        self._polling = Polling(reactor, self._look)

    def start(self) -> Deferred[None]:
        self._worker = self._make_worker(self._reactor, "metadata")
        return succeed(None)

    def stop(self) -> Deferred[None]:
        if self._stopped or self._worker is None:
            self._stopped = True
            return succeed(None)
        self._watches.clear()
        self._poll_if_watched()
        done = self._run(self._records.close).addErrback(lambda failure: self._log.failure("closing", failure))
        self._stopped = True
        return done.addBoth(lambda _: self._worker.stop())

    def initialize(self) -> Deferred[bool]:
        return self._run(self._tables.create)

    def instance_id(self) -> Deferred[str | None]:
        return self._run(self._tables.instance_id)

    # Ledgers ------------------------------------------------------------------------------------------------------

    def new_ledger_id(self) -> Deferred[int]:
        return self._run(self._tables.next_ledger_id)

    def create_ledger(self, ledger_id: int, metadata: LedgerMetadata) -> Deferred[Versioned]:
        return self._change(self._records.create_ledger, check_ledger_id(ledger_id), metadata)

    def read_ledger(self, ledger_id: int) -> Deferred[Versioned]:
        return self._run(self._records.read_ledger, ledger_id)

    def read_latest_ledger(self, ledger_id: int) -> Deferred[Versioned]:
        return self.read_ledger(ledger_id)  # there is one file

    def write_ledger(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Deferred[Versioned]:
        return self._change(self._records.write_ledger, ledger_id, metadata, version)

    def delete_ledger(self, ledger_id: int) -> Deferred[None]:
        return self._change(self._tables.delete_ledger, ledger_id)

    def list_ledgers(self, scope_id: int | None = 0) -> Deferred[list[int]]:
        return self._run(self._tables.ledger_ids, scope_id)

    def watch_ledger(self, ledger_id: int, changed: Callable[[], None]) -> Callable[[], None]:
        return self._watch(ledger_id, changed)

    # Bookies ------------------------------------------------------------------------------------------------------

    def register_bookie(
        self,
        bookie_id: BookieId,
        info: BookieServiceInfo,
        read_only: bool = False,
        lost: Callable[[BaseException], None] | None = None,
    ) -> Deferred[None]:
        service_info.check_bookie_id(bookie_id)
        return self._change(self._records.register, bookie_id, info, read_only)

    def unregister_bookie(self, bookie_id: BookieId) -> Deferred[None]:
        return self._change(self._records.unregister, bookie_id)

    def writable_bookies(self) -> Deferred[frozenset[BookieId]]:
        return self._run(self._records.writable_bookies)

    def read_only_bookies(self) -> Deferred[frozenset[BookieId]]:
        return self._run(self._records.read_only_bookies)

    def bookie_info(self, bookie_id: BookieId) -> Deferred[BookieServiceInfo]:
        return self._run(self._records.bookie_info, bookie_id)

    def watch_bookies(self, changed: Callable[[], None]) -> Callable[[], None]:
        return self._watch(BOOKIES, changed)

    def read_cookie(self, bookie_id: BookieId) -> Deferred[tuple[bytes, int] | None]:
        return self._run(self._tables.cookie, bookie_id)

    def write_cookie(self, bookie_id: BookieId, cookie: bytes, version: int | None) -> Deferred[int]:
        service_info.check_bookie_id(bookie_id)
        return self._run(self._tables.put_cookie, bookie_id, cookie, version)

    def delete_cookie(self, bookie_id: BookieId, version: int) -> Deferred[None]:
        return self._run(self._tables.delete_cookie, bookie_id, version)

    def cookie_bookies(self) -> Deferred[frozenset[BookieId]]:
        return self._run(lambda: frozenset(self._tables.cookie_bookies()))

    # Named records ------------------------------------------------------------------------------------------------

    def read_record(self, path: DocumentPath) -> Deferred[tuple[bytes, int] | None]:
        return self._run(self._records.named.read, path)

    def write_record(self, path: DocumentPath, data: bytes, version: int | None) -> Deferred[int]:
        return self._run(self._records.named.write, path, data, version)

    def delete_record(self, path: DocumentPath, version: int) -> Deferred[None]:
        return self._run(self._records.named.delete, path, version)

    def list_records(self, path: DocumentPath) -> Deferred[list[str]]:
        return self._run(self._records.named.names, path)

    # Replication --------------------------------------------------------------------------------------------------

    def replication(self) -> Deferred[Replication]:
        return succeed(Replication())  # nobody re-replicates: auto-recovery is Java's, and does not know this store

    def lock_replication(self, ledger_id: int, bookie_id: BookieId) -> Deferred[bool]:
        return succeed(True)

    def unlock_replication(self, ledger_id: int) -> Deferred[None]:
        return succeed(None)

    # On the store's thread ----------------------------------------------------------------------------------------

    def _observe(self, keys: frozenset[Any], only_if_changed: bool) -> dict[Any, Any]:
        stamps: dict[Any, Any] = {}
        try:
            if self._tables.changed_by_others() or not only_if_changed:
                stamps.update(self._tables.ledger_versions(key for key in keys if key != BOOKIES))
            if BOOKIES in keys:  # a killed bookie changes no table
                stamps[BOOKIES] = self._records.registered()
        except BaseException:
            self._tables.look_again()
            raise
        return stamps

    # Around the thread --------------------------------------------------------------------------------------------

    def _run(self, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        if self._stopped or self._worker is None:
            return fail(MetadataUnavailable(f"the metadata store {self.path} is not started, or stopped"))
        done: Deferred[Any] = self._worker.run(translated, self.path, function, *args)
        return done

    def _change(self, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        """Run, then look for changes: SQLite's data version does not change with one's own commits."""
        done = self._run(function, *args)
        if self._watches.keys and not self._stopped:
            self._look(only_if_changed=False)
        return done

    def _watch(self, key: Any, changed: Callable[[], None]) -> Callable[[], None]:
        end = self._watches.add(key, changed)
        self._look(only_if_changed=False)  # reads after this call are not older than the first stamp
        self._poll_if_watched()

        def stop_watching() -> None:
            end()
            self._poll_if_watched()

        return stop_watching

    def _poll_if_watched(self) -> None:
        if self._watches.keys:
            self._polling.start()
        else:
            self._polling.stop()

    def _look(self, only_if_changed: bool = True) -> Deferred[None]:
        looked = self._run(self._observe, self._watches.keys, only_if_changed).addCallback(self._watches.saw)
        return looked.addCallbacks(self._polling.found, self._look_failed)

    def _look_failed(self, failure: Any) -> None:
        # The next look may succeed; a caller that needs the answer reads, and gets the error itself.
        if failure.check(MetadataError):
            self._log.debug("looking for changes in {path}: {error}", path=self.path, error=failure.value)
        else:
            self._log.failure("looking for changes in {path}", failure, path=self.path)

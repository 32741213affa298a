"""The metadata store in etcd, for Twisted."""

import secrets
from collections.abc import Callable
from typing import Any, Final

from twisted.internet.defer import Deferred, fail, succeed
from twisted.logger import Logger

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.metadata import service_info
from bookkeeper_tx.metadata.documents import DocumentPath
from bookkeeper_tx.metadata.etcd.channel import EtcdChannel
from bookkeeper_tx.metadata.etcd.client import EtcdClient
from bookkeeper_tx.metadata.etcd.lease import EtcdLease
from bookkeeper_tx.metadata.etcd.looks import EtcdLooks
from bookkeeper_tx.metadata.etcd.records import EtcdRecords
from bookkeeper_tx.metadata.etcd.registrations import EtcdRegistrations, Registration
from bookkeeper_tx.metadata.uri import EtcdUri
from bookkeeper_tx.metadata.watches import BOOKIES
from bookkeeper_tx.model import BookieId, BookieServiceInfo, LedgerMetadata, Replication, Versioned, check_ledger_id
from bookkeeper_tx.threads.worker import Worker

OPERATIONS_AT_ONCE: Final = 8
"""Threads for operations: etcd makes changes that come together durable together."""

LISTS_AT_ONCE: Final = 2
"""Threads for lists, which may take long."""


class EtcdMetadataStore:
    """The store of the cluster at ``uri``.

    What blocks is done on threads: operations, lists and looks for changes on some of their own, and the lease, with
    the bookies and locks that are under it, on one that nothing else can hold up.
    """

    _log = Logger()

    def __init__(
        self,
        uri: EtcdUri,
        reactor: Any,
        timeout_s: float = 10.0,
        *,
        make_channel: Callable[..., Any] = EtcdChannel,
        make_worker: Callable[[Any, str, int], Any] = Worker,
        draw_token: Callable[[int], int] = secrets.randbits,
    ) -> None:
        """``timeout_s`` is how long an operation may take, and how long a lease lives that nobody keeps alive."""
        self._reactor = reactor
        self._make_worker = make_worker
        self._client = EtcdClient(make_channel(uri.hosts), timeout_s)
        self._records = EtcdRecords(
            self._client, uri.scope, lambda key: reactor.callFromThread(self._looks.told, key), draw_token
        )
        self._lease = EtcdLease(self._client, timeout_s)
        self._registrations = EtcdRegistrations(
            self._records.bookies, self._lease, timeout_s, reactor, self._operate_on_lease
        )
        self._looks = EtcdLooks(self._records, reactor, timeout_s, self._run_look)
        self._operations: Any = None
        self._lists: Any = None
        self._look_worker: Any = None
        self._leases: Any = None
        self._stopped = False

    def start(self) -> Deferred[None]:
        self._operations = self._make_worker(self._reactor, "etcd", OPERATIONS_AT_ONCE)
        self._lists = self._make_worker(self._reactor, "etcd-lists", LISTS_AT_ONCE)
        self._look_worker = self._make_worker(self._reactor, "etcd-looks", 1)
        self._leases = self._make_worker(self._reactor, "etcd-lease", 1)
        # That somebody answers; a cluster may be made later.
        return self._run(self._operations, self._records.cluster.instance_id).addCallbacks(
            lambda _: None, lambda failure: self.stop().addCallback(lambda _: failure)
        )

    def stop(self) -> Deferred[None]:
        if self._stopped or self._operations is None:
            self._stopped = True
            return succeed(None)
        self._looks.stop()
        self._registrations.stop()
        revoked = self._run(self._leases, self._lease.revoke)
        self._stopped = True
        return revoked.addErrback(self._not_revoked).addCallback(lambda _: self._end())

    def initialize(self) -> Deferred[bool]:
        return self._run(self._operations, self._records.cluster.initialize)

    def instance_id(self) -> Deferred[str | None]:
        return self._operate(self._records.cluster.instance_id)

    # Ledgers ------------------------------------------------------------------------------------------------------

    def new_ledger_id(self) -> Deferred[int]:
        return self._operate(self._records.ledgers.new_id)

    def create_ledger(self, ledger_id: int, metadata: LedgerMetadata) -> Deferred[Versioned]:
        return self._operate(self._records.ledgers.create, check_ledger_id(ledger_id), metadata)

    def read_ledger(self, ledger_id: int) -> Deferred[Versioned]:
        return self._operate(self._records.ledgers.read, ledger_id)

    def read_latest_ledger(self, ledger_id: int) -> Deferred[Versioned]:
        return self.read_ledger(ledger_id)  # what etcd reads is linearizable

    def write_ledger(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Deferred[Versioned]:
        return self._operate(self._records.ledgers.write, ledger_id, metadata, version)

    def delete_ledger(self, ledger_id: int) -> Deferred[None]:
        return self._operate(self._records.ledgers.delete, ledger_id)

    def list_ledgers(self, scope_id: int | None = 0) -> Deferred[list[int]]:
        return self._list(self._records.ledgers.ids, scope_id)

    def watch_ledger(self, ledger_id: int, changed: Callable[[], None]) -> Callable[[], None]:
        return self._looks.watch(ledger_id, changed)

    # Bookies ------------------------------------------------------------------------------------------------------

    def register_bookie(
        self,
        bookie_id: BookieId,
        info: BookieServiceInfo,
        read_only: bool = False,
        lost: Callable[[BaseException], None] | None = None,
    ) -> Deferred[None]:
        service_info.check_bookie_id(bookie_id)
        return Deferred.fromCoroutine(self._registrations.register(bookie_id, Registration(info, read_only, lost)))

    def unregister_bookie(self, bookie_id: BookieId) -> Deferred[None]:
        return Deferred.fromCoroutine(self._registrations.unregister(bookie_id))

    def writable_bookies(self) -> Deferred[frozenset[BookieId]]:
        return self._operate(self._records.bookies.writable)

    def read_only_bookies(self) -> Deferred[frozenset[BookieId]]:
        return self._operate(self._records.bookies.read_only)

    def bookie_info(self, bookie_id: BookieId) -> Deferred[BookieServiceInfo]:
        return self._operate(self._records.bookies.info, bookie_id)

    def watch_bookies(self, changed: Callable[[], None]) -> Callable[[], None]:
        return self._looks.watch(BOOKIES, changed)

    def read_cookie(self, bookie_id: BookieId) -> Deferred[tuple[bytes, int] | None]:
        return self._operate(self._records.cookies.read, bookie_id)

    def write_cookie(self, bookie_id: BookieId, cookie: bytes, version: int | None) -> Deferred[int]:
        service_info.check_bookie_id(bookie_id)
        return self._operate(self._records.cookies.write, bookie_id, cookie, version)

    def delete_cookie(self, bookie_id: BookieId, version: int) -> Deferred[None]:
        return self._operate(self._records.cookies.delete, bookie_id, version)

    def cookie_bookies(self) -> Deferred[frozenset[BookieId]]:
        return self._list(self._records.cookies.bookie_ids)

    # Named records ------------------------------------------------------------------------------------------------

    def read_record(self, path: DocumentPath) -> Deferred[tuple[bytes, int] | None]:
        return self._operate(self._records.named.read, path)

    def write_record(self, path: DocumentPath, data: bytes, version: int | None) -> Deferred[int]:
        return self._operate(self._records.named.write, path, data, version)

    def delete_record(self, path: DocumentPath, version: int) -> Deferred[None]:
        return self._operate(self._records.named.delete, path, version)

    def list_records(self, path: DocumentPath) -> Deferred[list[str]]:
        return self._list(self._records.named.names, path)

    # Replication --------------------------------------------------------------------------------------------------

    def replication(self) -> Deferred[Replication]:
        return succeed(Replication())  # nobody re-replicates: Java's auto-recovery does not know etcd

    def lock_replication(self, ledger_id: int, bookie_id: BookieId) -> Deferred[bool]:
        self._registrations.keep_lease()
        return self._operate_on_lease(self._records.locks.lock, ledger_id, bookie_id, self._lease)

    def unlock_replication(self, ledger_id: int) -> Deferred[None]:
        return self._operate_on_lease(self._records.locks.unlock, ledger_id, self._lease)

    # On threads ---------------------------------------------------------------------------------------------------

    def _operate(self, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        return self._after_first_looks(self._operations, self._records.do, function, *args)

    def _list(self, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        return self._after_first_looks(self._lists, self._records.do, function, *args)

    def _operate_on_lease(self, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        return self._run(self._leases, self._records.do, function, *args)

    def _after_first_looks(self, worker: Any, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        """Run it when the watches that were asked for before it have begun: it must not read what is older."""
        deadline = self._client.deadline()
        if self._stopped:
            return self._run_until(deadline, worker, function, *args)
        looked = self._looks.after_first_looks()
        return looked.addCallback(lambda _: self._run_until(deadline, worker, function, *args))

    def _run_look(self, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        return self._run(self._look_worker, function, *args)

    def _run(self, worker: Any, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        return self._run_until(self._client.deadline(), worker, function, *args)

    def _run_until(self, deadline: float, worker: Any, function: Callable[..., Any], *args: Any) -> Deferred[Any]:
        if self._stopped or worker is None:
            hosts = self._client.hosts
            return fail(MetadataUnavailable(f"the metadata store in etcd at {hosts} is not started, or stopped"))
        done: Deferred[Any] = worker.run(self._limited, deadline, function, *args)
        return done

    def _limited(self, deadline: float, function: Callable[..., Any], *args: Any) -> Any:
        with self._client.until(deadline):
            return function(*args)

    def _not_revoked(self, failure: Any) -> None:
        self._log.warn("the lease ends by itself: {error}", error=failure.value)

    def _end(self) -> Deferred[None]:
        ended = self._leases.run(self._records.close)
        for worker in (self._leases, self._operations, self._lists, self._look_worker):
            ended.addBoth(lambda _, worker=worker: worker.stop())
        return ended.addCallback(lambda _: None)  # type: ignore[no-any-return]

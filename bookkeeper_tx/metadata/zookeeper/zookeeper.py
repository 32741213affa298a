"""The metadata store in ZooKeeper, laid out so that Java clients and bookies share it."""

import secrets
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from bookkeeper_tx.metadata import service_info
from bookkeeper_tx.metadata.documents import DocumentPath
from bookkeeper_tx.metadata.uri import ZooKeeperUri
from bookkeeper_tx.metadata.zookeeper.cluster import ZooKeeperCluster
from bookkeeper_tx.metadata.zookeeper.cookies import ZooKeeperCookies
from bookkeeper_tx.metadata.zookeeper.kazoo_session import KazooSession
from bookkeeper_tx.metadata.zookeeper.ledger_ids import LedgerIds
from bookkeeper_tx.metadata.zookeeper.ledgers import ZooKeeperLedgers
from bookkeeper_tx.metadata.zookeeper.named_records import ZooKeeperNamedRecords
from bookkeeper_tx.metadata.zookeeper.node_watches import NodeWatches
from bookkeeper_tx.metadata.zookeeper.paths import LedgerTree
from bookkeeper_tx.metadata.zookeeper.registered_bookies import RegisteredBookies
from bookkeeper_tx.metadata.zookeeper.registration import Registration, ZooKeeperRegistrations
from bookkeeper_tx.metadata.zookeeper.replication_locks import ReplicationLocks
from bookkeeper_tx.metadata.zookeeper.twisted_requests import TwistedRequests
from bookkeeper_tx.metadata.zookeeper.underreplication import Underreplication
from bookkeeper_tx.model import BookieId, BookieServiceInfo, LedgerMetadata, Replication, Versioned, check_ledger_id
from bookkeeper_tx.security.metadata_security import MetadataSecurity

SESSION_TIMEOUT_S = 10.0
"""How long a bookie that does not answer ZooKeeper stays registered; Java's default."""

OPERATION_TIMEOUT_S = 10.0
"""How long an operation may take; long enough for a session to move to another server."""

log = Logger()


class ZooKeeperMetadataStore:
    """The store of the cluster at ``uri``."""

    def __init__(
        self,
        uri: ZooKeeperUri,
        reactor: Any,
        security: MetadataSecurity | None = None,
        *,
        session_timeout_s: float = SESSION_TIMEOUT_S,
        operation_timeout_s: float = OPERATION_TIMEOUT_S,
        make_session: Callable[..., Any] = KazooSession,
        draw_token: Callable[[int], int] = secrets.randbits,
    ) -> None:
        root = uri.root
        self._root = root
        self._session = make_session(reactor, uri.hosts, session_timeout_s, operation_timeout_s, security)
        self._session.connected_again = self._connected_again
        self._requests = TwistedRequests(self._session, reactor, operation_timeout_s)
        self._cluster = ZooKeeperCluster(self._requests, root, uri.layout)
        self._ledgers = ZooKeeperLedgers(self._requests, self._tree, draw_token)
        self._ids = LedgerIds(self._requests, root, self._tree)
        self._cookies = ZooKeeperCookies(self._requests, root)
        self._named = ZooKeeperNamedRecords(self._requests, root)
        self._underreplication = Underreplication(self._requests, root)
        self._bookies = RegisteredBookies(self._requests, root)
        self._registrations = ZooKeeperRegistrations(self._requests, root, reactor, session_timeout_s)
        self._locks = ReplicationLocks(self._requests, root)
        self._watches = NodeWatches(self._requests, reactor)

    def start(self) -> Deferred[None]:
        return Deferred.fromCoroutine(self._start())

    async def _start(self) -> None:
        await self._session.start()
        try:
            await self._requests.within(self._cluster.check_if_there())
        except Exception:
            await self.stop()
            raise

    def stop(self) -> Deferred[None]:
        self._watches.clear()
        self._requests.stop()
        stopped: Deferred[None] = self._session.stop()
        return stopped

    def initialize(self) -> Deferred[bool]:
        return self._requests.within(self._cluster.initialize())

    def instance_id(self) -> Deferred[str | None]:
        return self._operate(self._cluster.instance_id())

    # Ledgers ------------------------------------------------------------------------------------------------------

    def new_ledger_id(self) -> Deferred[int]:
        return self._operate(self._ids.new())

    def create_ledger(self, ledger_id: int, metadata: LedgerMetadata) -> Deferred[Versioned]:
        check_ledger_id(ledger_id)
        return self._operate(self._ledgers.create(ledger_id, metadata))

    def read_ledger(self, ledger_id: int) -> Deferred[Versioned]:
        return self._operate(self._ledgers.read(ledger_id))

    def read_latest_ledger(self, ledger_id: int) -> Deferred[Versioned]:
        return self._operate(self._ledgers.read_latest(ledger_id))

    def write_ledger(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Deferred[Versioned]:
        return self._operate(self._ledgers.write(ledger_id, metadata, version))

    def delete_ledger(self, ledger_id: int) -> Deferred[None]:
        return self._operate(self._ledgers.delete(ledger_id))

    def list_ledgers(self, scope_id: int | None = 0) -> Deferred[list[int]]:
        async def check_and_list() -> list[int]:
            await self._requests.within(self._cluster.check_layout())
            return await self._ledgers.ids(scope_id)

        return Deferred.fromCoroutine(check_and_list())

    def watch_ledger(self, ledger_id: int, changed: Callable[[], None]) -> Callable[[], None]:
        # Before the cluster is there its layout is not known, and so neither is the path of the ledger.
        paths = {tree.path(ledger_id) for tree in self._trees()}
        return _end_all([self._watches.node(path, changed) for path in paths])

    # Bookies ------------------------------------------------------------------------------------------------------

    def register_bookie(
        self,
        bookie_id: BookieId,
        info: BookieServiceInfo,
        read_only: bool = False,
        lost: Callable[[BaseException], None] | None = None,
    ) -> Deferred[None]:
        service_info.check_bookie_id(bookie_id)
        registering = self._registrations.register(bookie_id, Registration(info, read_only, lost))
        # It may have to wait for the node of a killed process to vanish, in one folder and then in the other.
        return self._operate(registering, extra_timeout_s=2 * self._registrations.patience_s)

    def unregister_bookie(self, bookie_id: BookieId) -> Deferred[None]:
        return self._operate(self._registrations.unregister(bookie_id))

    def writable_bookies(self) -> Deferred[frozenset[BookieId]]:
        return self._operate(self._bookies.writable())

    def read_only_bookies(self) -> Deferred[frozenset[BookieId]]:
        return self._operate(self._bookies.read_only())

    def bookie_info(self, bookie_id: BookieId) -> Deferred[BookieServiceInfo]:
        return self._operate(self._bookies.info(bookie_id))

    def watch_bookies(self, changed: Callable[[], None]) -> Callable[[], None]:
        folders = (self._bookies.writable_folder, self._bookies.read_only_folder)
        return _end_all([self._watches.children(folder, changed) for folder in folders])

    def read_cookie(self, bookie_id: BookieId) -> Deferred[tuple[bytes, int] | None]:
        return self._operate(self._cookies.read(bookie_id))

    def write_cookie(self, bookie_id: BookieId, cookie: bytes, version: int | None) -> Deferred[int]:
        service_info.check_bookie_id(bookie_id)
        return self._operate(self._cookies.write(bookie_id, cookie, version))

    def delete_cookie(self, bookie_id: BookieId, version: int) -> Deferred[None]:
        return self._operate(self._cookies.delete(bookie_id, version))

    def cookie_bookies(self) -> Deferred[frozenset[BookieId]]:
        return self._operate(self._cookies.bookie_ids())

    # Named records ------------------------------------------------------------------------------------------------

    def read_record(self, path: DocumentPath) -> Deferred[tuple[bytes, int] | None]:
        return self._operate(self._named.read(path))

    def write_record(self, path: DocumentPath, data: bytes, version: int | None) -> Deferred[int]:
        return self._operate(self._named.write(path, data, version))

    def delete_record(self, path: DocumentPath, version: int) -> Deferred[None]:
        return self._operate(self._named.delete(path, version))

    def list_records(self, path: DocumentPath) -> Deferred[list[str]]:
        return self._operate(self._named.names(path))

    # Replication --------------------------------------------------------------------------------------------------

    def replication(self) -> Deferred[Replication]:
        return self._operate(self._underreplication.read())

    def lock_replication(self, ledger_id: int, bookie_id: BookieId) -> Deferred[bool]:
        return self._operate(self._locks.lock(ledger_id, bookie_id))

    def unlock_replication(self, ledger_id: int) -> Deferred[None]:
        return self._operate(self._locks.unlock(ledger_id))

    # ---------------------------------------------------------------------------------------------------------------

    def _trees(self) -> list[LedgerTree]:
        """Return the trees that ledgers may be in: only one once the cluster's layout is known."""
        return [LedgerTree(self._root, layout) for layout in self._cluster.layouts]

    def _tree(self) -> LedgerTree:
        return self._trees()[0]

    def _operate(self, work: Coroutine[Any, Any, Any], extra_timeout_s: float = 0) -> Deferred[Any]:
        return self._requests.within(self._cluster.checked(work), extra_timeout_s)

    def _connected_again(self) -> None:
        self._registrations.connected_again()
        if self._locks.unwanted:
            self._operate(self._locks.give_back()).addErrback(self._locks_stay)
        self._watches.connected_again()

    def _locks_stay(self, failure: Failure) -> None:
        """Take notice that locks are not given back yet: with the next connection, or the next lock."""
        log.warn("locks of re-replication stay for now: {error}", error=failure.value)


def _end_all(ends: Sequence[Callable[[], None]]) -> Callable[[], None]:
    def end_all() -> None:
        for end in ends:
            end()

    return end_all

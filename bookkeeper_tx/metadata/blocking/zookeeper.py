"""The metadata store in ZooKeeper for programs without a reactor, in the layout of the store of the reactor."""

import secrets
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from itertools import tee
from typing import Any

from bookkeeper_tx.errors import BookKeeperError, MetadataCorrupt
from bookkeeper_tx.metadata.blocking.opened import Opened
from bookkeeper_tx.metadata.blocking.requests import BlockingRequests, run
from bookkeeper_tx.metadata.blocking.session import BlockingSession
from bookkeeper_tx.metadata.documents import DocumentPath
from bookkeeper_tx.metadata.uri import ZooKeeperUri
from bookkeeper_tx.metadata.watches import BOOKIES, Key
from bookkeeper_tx.metadata.zookeeper.cluster import ZooKeeperCluster
from bookkeeper_tx.metadata.zookeeper.cookies import ZooKeeperCookies
from bookkeeper_tx.metadata.zookeeper.documents import ZooKeeperDocuments
from bookkeeper_tx.metadata.zookeeper.ledger_ids import LedgerIds
from bookkeeper_tx.metadata.zookeeper.ledgers import ZooKeeperLedgers, no_such, versioned
from bookkeeper_tx.metadata.zookeeper.named_records import ZooKeeperNamedRecords
from bookkeeper_tx.metadata.zookeeper.paths import LedgerTree
from bookkeeper_tx.metadata.zookeeper.registered_bookies import RegisteredBookies
from bookkeeper_tx.model import BookieId, BookieServiceInfo, LedgerMetadata, Versioned, check_ledger_id
from bookkeeper_tx.security.metadata_security import MetadataSecurity


class BlockingZooKeeperStore(Opened):
    """The store of the cluster at ``uri``."""

    def __init__(
        self,
        uri: ZooKeeperUri,
        timeout_s: float,
        security: MetadataSecurity | None = None,
        *,
        make_session: Callable[..., BlockingSession] = BlockingSession,
        draw_token: Callable[[int], int] = secrets.randbits,
    ) -> None:
        self._root = uri.root
        self._session = make_session(uri.hosts, timeout_s, security)
        self._requests = BlockingRequests(self._session)
        self._cluster = ZooKeeperCluster(self._requests, uri.root, uri.layout)
        self._ledgers = ZooKeeperLedgers(self._requests, self._tree, draw_token)
        self._ids = LedgerIds(self._requests, uri.root, self._tree)
        self._bookies = RegisteredBookies(self._requests, uri.root)
        self._cookies = ZooKeeperCookies(self._requests, uri.root)
        self._documents = ZooKeeperDocuments(self._requests, uri.root)
        self._named = ZooKeeperNamedRecords(self._requests, uri.root)
        self._watched: dict[str, Key] = {}
        """What the paths are those of that kazoo watches: a watch stays until it fires, and then once."""
        self._lost = False
        """Whether all watches were lost with a connection since somebody has asked for some."""

    def open(self) -> None:
        """Connect; raises MetadataUnavailable if nobody answers or there is no cluster, InvalidConfig for a cluster of
        another layout than that of the URI.
        """
        self._session.open()
        try:
            self._do(self._cluster.check())
        except BaseException:
            self._session.close()
            raise

    def close(self) -> None:
        self._session.close()

    def instance_id(self) -> str | None:
        instance_id: str | None = self._do(self._cluster.instance_id())
        return instance_id

    # Ledgers ------------------------------------------------------------------------------------------------------

    def new_ledger_id(self) -> int:
        return int(self._do(self._ids.new()))

    def create_ledger(self, ledger_id: int, metadata: LedgerMetadata) -> Versioned:
        check_ledger_id(ledger_id)
        return self._versioned(self._ledgers.create(ledger_id, metadata))

    def read_ledger(self, ledger_id: int) -> Versioned:
        return self._versioned(self._ledgers.read(ledger_id))

    def read_ledgers(self, ledger_ids: Iterable[int]) -> Iterator[tuple[int, Versioned | BookKeeperError]]:
        self._do(self._cluster.check())
        asked, to_send = tee(ledger_ids)
        answers = self._requests.each("get", map(self._tree().path, to_send))
        for ledger_id, answer in zip(asked, answers, strict=True):
            if isinstance(answer, Exception):
                yield ledger_id, no_such(ledger_id)
                continue
            try:
                stored: Versioned | BookKeeperError = versioned(ledger_id, answer)
            except MetadataCorrupt as error:
                stored = error
            yield ledger_id, stored

    def write_ledger(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned:
        return self._versioned(self._ledgers.write(ledger_id, metadata, version))

    def delete_ledger(self, ledger_id: int) -> None:
        self._do(self._ledgers.delete(ledger_id))

    def list_ledgers(self, scope_id: int | None = 0) -> list[int]:
        self._do(self._cluster.check_layout())
        return list(run(self._requests.within(self._ledgers.ids(scope_id))))

    # Bookies ------------------------------------------------------------------------------------------------------

    def writable_bookies(self) -> frozenset[BookieId]:
        return frozenset(self._do(self._bookies.writable()))

    def read_only_bookies(self) -> frozenset[BookieId]:
        return frozenset(self._do(self._bookies.read_only()))

    def bookie_info(self, bookie_id: BookieId) -> BookieServiceInfo:
        info: BookieServiceInfo = self._do(self._bookies.info(bookie_id))
        return info

    def cookie_bookies(self) -> frozenset[BookieId]:
        return frozenset(self._do(self._cookies.bookie_ids()))

    # Changes ------------------------------------------------------------------------------------------------------

    tells = True

    def stamps(self, keys: Collection[Key], changed: Callable[[Key | None], None]) -> dict[Key, Any]:
        self._changed = changed
        if self._lost:
            self._lost = False
            self._watched.clear()
        paths = {self._tree().path(key): key for key in keys if isinstance(key, int)}
        self._watched.update(paths)
        found = self._requests.each("exists", paths, watch=self._fired)
        stamps: dict[Key, Any] = {
            key: stat and (stat.czxid, stat.mzxid) for key, stat in zip(paths.values(), found, strict=True)
        }
        if BOOKIES in keys:
            self._watched[self._bookies.writable_folder] = BOOKIES
            stamps[BOOKIES] = frozenset(self._do(self._bookies.writable(self._fired)))
        return stamps

    def forget(self, key: Key) -> None:
        """Does nothing: a watch in ZooKeeper ends when it tells."""

    def _fired(self, event: Any) -> None:
        """Tell what an event, in kazoo's thread, is about: a node, or a connection that was lost and all watches."""
        self._lost = self._lost or event.path is None
        self._changed(self._watched.pop(event.path, None))

    # Named records ------------------------------------------------------------------------------------------------

    def read_record(self, path: DocumentPath) -> tuple[bytes, int] | None:
        found: tuple[bytes, int] | None = self._do(self._named.read(path))
        return found

    def write_record(self, path: DocumentPath, data: bytes, version: int | None) -> int:
        return int(self._do(self._named.write(path, data, version)))

    def delete_record(self, path: DocumentPath, version: int) -> None:
        self._do(self._named.delete(path, version))

    def list_records(self, path: DocumentPath) -> list[str]:
        return list(self._do(self._named.names(path)))

    # Documents ----------------------------------------------------------------------------------------------------

    def create_document(self, path: DocumentPath, data: bytes) -> bool:
        return bool(self._do(self._documents.create(path, data)))

    def read_document(self, path: DocumentPath) -> bytes | None:
        data: bytes | None = self._do(self._documents.read(path))
        return data

    def list_documents(self, path: DocumentPath) -> list[str]:
        return list(self._do(self._documents.names(path)))

    def delete_document(self, path: DocumentPath) -> None:
        self._do(self._documents.delete(path))

    # ---------------------------------------------------------------------------------------------------------------

    def _tree(self) -> LedgerTree:
        return LedgerTree(self._root, self._cluster.layouts[0])

    def _versioned(self, work: Coroutine[Any, Any, Versioned]) -> Versioned:
        versioned: Versioned = self._do(work)
        return versioned

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return run(self._requests.within(self._cluster.checked(work)))

"""The metadata store for programs without a reactor, such as Spark's executors: no Twisted is loaded here.

It works on the same files and nodes as the stores of the reactor, but does not register bookies.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Protocol, Self

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.metadata.blocking.sqlite import BlockingSqliteStore
from bookkeeper_tx.metadata.uri import EtcdUri, SqliteUri, parse_metadata_uri
from bookkeeper_tx.metadata.watches import Key
from bookkeeper_tx.model import BookieId, BookieServiceInfo, LedgerMetadata, Versioned
from bookkeeper_tx.security.metadata_security import MetadataSecurity


class BlockingStore(Protocol):
    """An open store, used by one thread and closed at the end of its ``with`` block; a forked child must open its own.

    Every method raises MetadataUnavailable when the store does not answer in time.
    """

    def close(self) -> None:
        """Give up the connection; later calls raise MetadataUnavailable."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def instance_id(self) -> str | None:
        """Return the cluster's instance id, None if it has none (very old clusters)."""

    # Ledgers ------------------------------------------------------------------------------------------------------

    def new_ledger_id(self) -> int:
        """Return a ledger id of scope 0 that was never given before."""

    def create_ledger(self, ledger_id: int, metadata: LedgerMetadata) -> Versioned:
        """Store the metadata of a new ledger; raises LedgerExists, InvalidArgument for an impossible id."""

    def read_ledger(self, ledger_id: int) -> Versioned:
        """Return a ledger's metadata; raises NoSuchLedger, MetadataCorrupt."""

    def read_ledgers(self, ledger_ids: Iterable[int]) -> Iterator[tuple[int, Versioned | BookKeeperError]]:
        """Yield id and metadata of each ledger in the order asked; many are read at once.

        NoSuchLedger and MetadataCorrupt are yielded instead of the metadata.  The time limit holds for each ledger by
        itself.
        """

    def write_ledger(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Versioned:
        """Change a ledger's metadata if it has ``version``; raises MetadataConflict, NoSuchLedger."""

    def delete_ledger(self, ledger_id: int) -> None:
        """Delete a ledger's metadata; raises NoSuchLedger."""

    def list_ledgers(self, scope_id: int | None = 0) -> list[int]:
        """Return the ids of the ledgers of a scope, of all scopes for None, ascending."""

    # Bookies ------------------------------------------------------------------------------------------------------

    def writable_bookies(self) -> frozenset[BookieId]: ...

    def read_only_bookies(self) -> frozenset[BookieId]: ...

    def bookie_info(self, bookie_id: BookieId) -> BookieServiceInfo:
        """Return a bookie's service info; raises BookieUnavailable if it is not registered."""

    def cookie_bookies(self) -> frozenset[BookieId]:
        """Return all bookies that have a cookie, also those that are down."""

    # Changes ------------------------------------------------------------------------------------------------------

    tells: bool
    """Whether it calls back when something has changed; otherwise look again after a while."""

    def stamps(self, keys: Collection[Key], changed: Callable[[Key | None], None]) -> dict[Key, Any]:
        """Return a stamp of each of ``keys`` (ids of ledgers, BOOKIES), which differs after a change.

        A store that :attr:`tells` calls ``changed(key)``, on any thread, when this may have happened once, or
        ``changed(None)`` when anything may have changed.  ``changed`` is the same one each time.
        """

    def forget(self, key: Key) -> None:
        """Tell of ``key`` no more than it has to: nobody asks for its stamps any longer."""

    # Records of ours beside the ledgers, changed by compare-and-set (``named_records.py``) ----------------------------

    def read_record(self, path: tuple[str, ...]) -> tuple[bytes, int] | None:
        """Return the bytes and the version of a record, None if there is none."""

    def write_record(self, path: tuple[str, ...], data: bytes, version: int | None) -> int:
        """Create (version None) or compare and set; return the new version.

        A record has 1 to RECORD_SIZE_MAX bytes.  Raises MetadataConflict, InvalidArgument.
        """

    def delete_record(self, path: tuple[str, ...], version: int) -> None:
        """Delete a record; raises MetadataConflict."""

    def list_records(self, path: tuple[str, ...]) -> list[str]:
        """Return the next names of all records below ``path``, sorted; ``()`` lists from the top."""

    # Documents: small records of ours beside the ledgers (``documents.py``) ---------------------------------------

    def create_document(self, path: tuple[str, ...], data: bytes) -> bool:
        """Create a document of 1 to DOCUMENT_SIZE_MAX bytes, atomically; returns False if there is one."""

    def read_document(self, path: tuple[str, ...]) -> bytes | None:
        """Return a document, None if there is none."""

    def list_documents(self, path: tuple[str, ...]) -> list[str]:
        """Return the next names of all documents below ``path``, sorted; ``()`` lists from the top."""

    def delete_document(self, path: tuple[str, ...]) -> None:
        """Delete a document; it is no error if there is none."""


def open_blocking_store(uri: str, timeout_s: float = 10.0, security: MetadataSecurity | None = None) -> BlockingStore:
    """Return the open store of a metadata URI (``metadata/store.py`` lists the forms).

    ``timeout_s`` is how long an operation may take, ``security`` is for ZooKeeper.  Raises InvalidConfig for a URI that
    names no store or not the cluster's layout, and for files of ``security`` that cannot be used, MetadataUnavailable
    if nobody answers or there is no cluster, MetadataAccessDenied if we are turned away.
    """
    parsed = parse_metadata_uri(uri)
    if isinstance(parsed, SqliteUri):
        sqlite_store = BlockingSqliteStore(parsed.path, timeout_s)
        sqlite_store.open()
        return sqlite_store
    if isinstance(parsed, EtcdUri):
        from bookkeeper_tx.metadata.blocking.etcd import BlockingEtcdStore

        etcd_store = BlockingEtcdStore(parsed, timeout_s)
        etcd_store.open()
        return etcd_store
    # Imported here, so that a program with an SQLite store does not wait for the import of kazoo.
    from bookkeeper_tx.metadata.blocking.zookeeper import BlockingZooKeeperStore

    zookeeper_store = BlockingZooKeeperStore(parsed, timeout_s, security)
    zookeeper_store.open()
    return zookeeper_store

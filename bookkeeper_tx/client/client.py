"""The BookKeeper client on Twisted."""

from random import Random
from typing import TYPE_CHECKING, Any

from bookkeeper_tx.client.channel import Channels
from bookkeeper_tx.client.core import Client
from bookkeeper_tx.client.deferred_handles import LedgerReader, LedgerWriter
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.metadata.interfaces import ClientMetadataStore
from bookkeeper_tx.transport.twisted_driver import TwistedDriver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from twisted.internet.defer import Deferred

    from bookkeeper_tx.entry.entry_list import EntryList
    from bookkeeper_tx.model import BookieDisk, BookieId, DigestType, LedgerMetadata


class BookKeeper(Client):
    """A client of one BookKeeper cluster, on one Twisted reactor.

    Every method that asks the cluster returns a Deferred, which can be awaited::

        bk = BookKeeper("sqlite:////var/lib/cluster/metadata.db")
        await bk.start()
        writer = await bk.create_ledger()
        entry_id = await writer.append(b"payload")
        await writer.close()
        await bk.close()

    :param metadata: URI of the cluster's metadata (``sqlite:///path``, ``zk+hierarchical://host:port/ledgers``), or a
        store that is not started yet (docs/guides/metadata-stores.md)
    :param config: settings; those of ``ClientConfig()`` if not given
    :param reactor: Twisted's own if not given
    :param channels: connections to the bookies, for tests
    :param random: source of placement, for tests
    :raises InvalidConfig: the URI names no store
    """

    def __init__(
        self,
        metadata: str | ClientMetadataStore,
        config: ClientConfig | None = None,
        reactor: Any = None,
        *,
        channels: Channels | None = None,
        random: Random | None = None,
    ) -> None:
        if reactor is None:
            from twisted.internet import reactor
        config = config or ClientConfig()
        store = _store_of(metadata, reactor, config) if isinstance(metadata, str) else metadata
        super().__init__(TwistedDriver(reactor), store, config, channels, random)

    if TYPE_CHECKING:  # promises are Deferreds here

        def start(self) -> Deferred[None]: ...
        def close(self) -> Deferred[None]: ...
        def create_ledger(  # type: ignore[override]
            self,
            ensemble_size: int = 3,
            write_quorum_size: int = 3,
            ack_quorum_size: int = 2,
            digest_type: DigestType = DigestType.CRC32C,
            password: bytes = b"",
            custom_metadata: Mapping[str, bytes] | None = None,
            *,
            ledger_id: int | None = None,
            scope_id: int = 0,
            deferred_sync: bool = False,
        ) -> Deferred[LedgerWriter]: ...
        def open_ledger(  # type: ignore[override]
            self, ledger_id: int, password: bytes = b"", digest_type: DigestType | None = None, *, scope_id: int = 0
        ) -> Deferred[LedgerReader]: ...
        def open_ledger_no_recovery(  # type: ignore[override]
            self, ledger_id: int, password: bytes = b"", digest_type: DigestType | None = None, *, scope_id: int = 0
        ) -> Deferred[LedgerReader]: ...
        def delete_ledger(self, ledger_id: int, *, scope_id: int = 0) -> Deferred[None]: ...
        def list_ledgers(self, scope_id: int | None = 0) -> Deferred[list[int]]: ...
        def ledger_metadata(self, ledger_id: int, *, scope_id: int = 0) -> Deferred[LedgerMetadata]: ...
        def update_custom_metadata(
            self, ledger_id: int, changes: Mapping[str, bytes | None], *, scope_id: int = 0
        ) -> Deferred[LedgerMetadata]: ...
        def entries_of(self, ledger_id: int, bookie_id: BookieId, *, scope_id: int = 0) -> Deferred[EntryList]: ...
        def bookie_info(self, bookie_id: BookieId) -> Deferred[BookieDisk]: ...
        def writable_bookies(self) -> Deferred[frozenset[BookieId]]: ...


def _store_of(uri: str, reactor: Any, config: ClientConfig) -> ClientMetadataStore:
    # Imported only here: a test that brings its own store needs none of ours.
    from bookkeeper_tx.metadata.store import open_metadata_store

    return open_metadata_store(uri, reactor, config.metadata_timeout_s)

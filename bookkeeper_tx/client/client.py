"""The BookKeeper client on Twisted."""

from random import Random
from typing import Any

from bookkeeper_tx.client.channel import Channels
from bookkeeper_tx.client.core import Client
from bookkeeper_tx.client.deferred_handles import LedgerReader, LedgerWriter, LedgerWriterAdv
from bookkeeper_tx.client.promised import OnTwisted
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.metadata.interfaces import ClientMetadataStore
from bookkeeper_tx.transport.twisted_driver import TwistedDriver


class BookKeeper(Client[LedgerWriter, LedgerWriterAdv, LedgerReader], OnTwisted):
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


def _store_of(uri: str, reactor: Any, config: ClientConfig) -> ClientMetadataStore:
    # Imported only here: a test that brings its own store needs none of ours.
    from bookkeeper_tx.metadata.store import open_metadata_store

    return open_metadata_store(uri, reactor, config.metadata_timeout_s, config.metadata_security)

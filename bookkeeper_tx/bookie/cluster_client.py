"""A client of a bookie's own cluster, for what the bookie does with ledgers of others."""

from typing import Any

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.config import BookieConfig, ClientConfig, WireProtocol
from bookkeeper_tx.metadata.one_bookie_store import OneBookieStore
from bookkeeper_tx.metadata.store import open_metadata_store
from bookkeeper_tx.model import BookieId


def cluster_client(
    reactor: Any, config: BookieConfig, read_bytes_max: int, only_bookie: BookieId | None = None
) -> BookKeeper:
    """Make one, which reads at most ``read_bytes_max`` ahead; its new ledgers are all on ``only_bookie``, if given.

    It comes to bookies with the ``client_tls`` and ``client_auth`` of ``config``.
    """
    store: Any = open_metadata_store(config.metadata_uri, reactor, config.metadata_timeout_s, config.metadata_security)
    settings = ClientConfig(
        protocol=WireProtocol.V3,  # V2 cannot name ledgers of other scopes
        metadata_timeout_s=config.metadata_timeout_s,
        frame_size_max=config.frame_size_max,
        read_bytes_max=read_bytes_max,
        tls=config.client_tls,
        auth=config.client_auth,
    )
    return BookKeeper(store if only_bookie is None else OneBookieStore(store, only_bookie), settings, reactor)

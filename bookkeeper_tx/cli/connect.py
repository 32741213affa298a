"""A client or a metadata store for the time of one command."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.metadata.store import open_metadata_store
from protocol_specs.ledger_id import SCOPED_MIN


def config_for(protocol: WireProtocol | None, ledger_id: int | None = None, scope_id: int = 0) -> ClientConfig:
    """Return the settings of a client for one ledger, V3 for a scoped one unless ``protocol`` is given."""
    scoped = scope_id != 0 or (ledger_id is not None and ledger_id >= SCOPED_MIN)
    return ClientConfig(protocol=protocol or (WireProtocol.V3 if scoped else WireProtocol.V2))


@asynccontextmanager
async def connected(reactor: Any, metadata_uri: str, config: ClientConfig | None = None) -> AsyncIterator[BookKeeper]:
    """Yield a client of the cluster whose metadata is at ``metadata_uri``; close it afterwards."""
    client = BookKeeper(metadata_uri, config, reactor)
    try:
        await client.start()
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def open_store(reactor: Any, metadata_uri: str) -> AsyncIterator[Any]:
    """Yield the started IMetadataStore at ``metadata_uri``; stop it afterwards."""
    store = open_metadata_store(metadata_uri, reactor)
    try:
        await store.start()
        yield store
    finally:
        await store.stop()

"""A client or a metadata store for the time of one command."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.metadata.store import open_metadata_store


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

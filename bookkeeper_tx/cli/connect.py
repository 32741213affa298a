"""A client or a metadata store for the time of one command."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import click
from attrs import evolve

from bookkeeper_tx.cli.main import Session
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.client.config_file import read_client_config_file
from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.metadata.interfaces import MetadataStore
from bookkeeper_tx.metadata.store import open_metadata_store
from protocol_specs.ledger_id import SCOPED_MIN


def default_config() -> ClientConfig:
    """Return the settings of a client: those of ``bktx --client-config FILE``, if it was given."""
    context = click.get_current_context(silent=True)
    session = None if context is None else context.find_object(Session)
    if session is None or session.client_config is None:
        return ClientConfig()
    return read_client_config_file(session.client_config, lambda text: click.echo(f"warning: {text}", err=True))


def config_for(protocol: WireProtocol | None, ledger_id: int | None = None, scope_id: int = 0) -> ClientConfig:
    """Return the settings of a client for one ledger, V3 for a scoped one unless ``protocol`` is given."""
    config = default_config()
    scoped = scope_id != 0 or (ledger_id is not None and ledger_id >= SCOPED_MIN)
    return evolve(config, protocol=protocol or (WireProtocol.V3 if scoped else config.protocol))


@asynccontextmanager
async def connected(reactor: Any, metadata_uri: str, config: ClientConfig | None = None) -> AsyncIterator[BookKeeper]:
    """Yield a client of the cluster whose metadata is at ``metadata_uri``; close it afterwards."""
    client = BookKeeper(metadata_uri, config or default_config(), reactor)
    try:
        await client.start()
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def open_store(reactor: Any, metadata_uri: str) -> AsyncIterator[MetadataStore]:
    """Yield the started store at ``metadata_uri``; stop it afterwards."""
    store = open_metadata_store(metadata_uri, reactor, security=default_config().metadata_security)
    try:
        await store.start()
        yield store
    finally:
        await store.stop()

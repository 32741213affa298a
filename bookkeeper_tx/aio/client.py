"""The BookKeeper client on asyncio."""

import asyncio

from bookkeeper_tx.aio.handles import LedgerReader, LedgerWriter, LedgerWriterAdv
from bookkeeper_tx.client.core import Client
from bookkeeper_tx.client.promised import OnAsyncio
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.metadata.aio_store import AioMetadataStore
from bookkeeper_tx.transport.aio_driver import AioDriver


class BookKeeper(Client[LedgerWriter, LedgerWriterAdv, LedgerReader], OnAsyncio):
    """A client of one BookKeeper cluster, on the event loop that runs.

    Every method that asks the cluster returns a Future or a Task, which is under way already; await it::

        async with BookKeeper("sqlite:////var/lib/cluster/metadata.db") as bk:
            async with await bk.create_ledger() as writer:
                entry_id = await writer.append(b"payload")
            async with await bk.open_ledger(writer.ledger_id) as reader:
                async for entry in reader:
                    print(entry.payload)

    :param metadata: URI of the cluster's metadata (docs/guides/metadata-stores.md)
    :param config: settings; those of ``ClientConfig()`` if not given
    :raises InvalidConfig: the URI names no store
    :raises RuntimeError: no event loop runs
    """

    def __init__(self, metadata: str, config: ClientConfig | None = None) -> None:
        loop = asyncio.get_running_loop()
        config = config or ClientConfig()
        super().__init__(
            AioDriver(loop),
            AioMetadataStore(metadata, config.metadata_timeout_s, loop, config.metadata_security),
            config,
        )

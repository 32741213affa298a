"""Clients of the cluster for the endpoints that read ledgers: made when the first request needs one."""

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred, DeferredLock, succeed

from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.metadata.interfaces import ClientMetadataStore
from bookkeeper_tx.model import BookieId


class ClientOnDemand:
    """Gives the client that ``make`` makes, started."""

    def __init__(self, make: Callable[[], BookKeeper]) -> None:
        self._make = make
        self._client: BookKeeper | None = None
        self._starting = DeferredLock()

    async def started(self) -> BookKeeper:
        """Return the client, started if it was not; raises MetadataUnavailable."""
        client: BookKeeper = await self._starting.run(lambda: Deferred.fromCoroutine(self._started()))
        return client

    async def _started(self) -> BookKeeper:
        if self._client is None:
            client = self._make()
            try:
                await client.start()
            except BaseException:
                await client.close()
                raise
            self._client = client
        return self._client

    def stop(self) -> Deferred[None]:
        """Close the client, if there is one."""
        client, self._client = self._client, None
        return succeed(None) if client is None else Deferred.fromCoroutine(_close(client))


async def _close(client: BookKeeper) -> None:
    await client.close()


class OneBookieStore:
    """A metadata store in which one bookie is the only one, so that all new ledgers are on it."""

    def __init__(self, store: ClientMetadataStore, bookie_id: BookieId) -> None:
        self._store = store
        self._bookie_id = bookie_id

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def writable_bookies(self) -> Deferred[frozenset[BookieId]]:
        return succeed(frozenset([self._bookie_id]))

    def watch_bookies(self, changed: Callable[[], None]) -> Callable[[], None]:
        return lambda: None

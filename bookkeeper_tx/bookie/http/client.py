"""Clients of the cluster for the endpoints that read ledgers: made when the first request needs one."""

from collections.abc import Callable

from twisted.internet.defer import Deferred, DeferredLock, succeed

from bookkeeper_tx.client.client import BookKeeper


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

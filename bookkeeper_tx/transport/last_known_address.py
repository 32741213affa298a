"""The address of a bookie, which the metadata store knows; the last one that it gave, while the store is away."""

from collections.abc import Awaitable, Callable
from typing import Any

from bookkeeper_tx.driver import Driver, Promise, fire
from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.model import BookieServiceInfo

PATIENCE_S = 1.0
"""How long the store may take where there is another way: requests wait meanwhile."""


class LastKnownAddress:
    """Asks for the address of one bookie before each connection, since a restarted bookie may have moved.

    Bookies serve while their metadata store is away, and must stay within reach then.
    """

    def __init__(self, driver: Driver, ask: Callable[[], Awaitable[BookieServiceInfo]]) -> None:
        self._driver = driver
        self._ask = ask
        self._known: BookieServiceInfo | None = None

    async def resolve(self) -> BookieServiceInfo:
        """Return the address.  Raises MetadataUnavailable if none is known, and the other errors of the store."""
        if self._known is None:
            return await self._current()
        address: Promise[BookieServiceInfo] = self._driver.promise()

        def answered(error: Exception | None, found: Any) -> None:
            if address.called:
                return
            patience.cancel()
            if error is None:
                address.callback(found)
            else:
                address.errback(error)

        patience = self._driver.clock.callLater(PATIENCE_S, fire, address, self._known)
        self._driver.when_done(self._driver.spawn(self._current()), answered)
        return await address

    async def _current(self) -> BookieServiceInfo:
        """Ask the store; an answer that nobody waits for any more is kept for the next time."""
        try:
            self._known = await self._ask()
        except MetadataUnavailable:
            if self._known is None:
                raise
        return self._known

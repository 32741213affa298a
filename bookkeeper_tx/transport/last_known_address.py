"""The address of a bookie, which the metadata store knows; the last one that it gave, while the store is away."""

from collections.abc import Awaitable, Callable

from bookkeeper_tx.errors import MetadataUnavailable
from bookkeeper_tx.model import BookieServiceInfo


class LastKnownAddress:
    """Asks for the address of one bookie before each connection, since a restarted bookie may have moved.

    Bookies serve while their metadata store is away, and must stay within reach then.
    """

    def __init__(self, ask: Callable[[], Awaitable[BookieServiceInfo]]) -> None:
        self._ask = ask
        self._known: BookieServiceInfo | None = None

    async def resolve(self) -> BookieServiceInfo:
        """Return the address.  Raises MetadataUnavailable if none is known, and the other errors of the store."""
        try:
            self._known = await self._ask()
        except MetadataUnavailable:
            if self._known is None:
                raise
        return self._known

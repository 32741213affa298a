"""The channels of one client, one for each bookie."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.driver import Driver, all_of
from bookkeeper_tx.model import BookieId, BookieServiceInfo
from bookkeeper_tx.transport.bookie_channel import BookieChannel
from bookkeeper_tx.transport.last_known_address import LastKnownAddress
from bookkeeper_tx.transport.pace import Pace


class ChannelPool:
    """Gives the channel to a bookie.

    ``resolve`` asks the metadata store for the address of a bookie; ``pace`` gives what is kept of its answers' times.
    """

    def __init__(
        self,
        driver: Driver,
        resolve: Callable[[BookieId], Awaitable[BookieServiceInfo]],
        config: ClientConfig,
        pace: Callable[[BookieId], Pace] | None = None,
    ) -> None:
        self._pace = pace or (lambda _: Pace(config.speculative_read_s_max))
        self._driver = driver
        self._resolve = resolve
        self._config = config
        self._channels: dict[BookieId, BookieChannel] = {}
        self._closed = False

    def channel(self, bookie_id: BookieId) -> BookieChannel:
        """Return the channel to ``bookie_id``; nothing is connected before the first request."""
        channel = self._channels.get(bookie_id)
        if channel is None:
            address = LastKnownAddress(self._driver, partial(self._resolve, bookie_id))
            channel = BookieChannel(self._driver, address.resolve, self._config, self._pace(bookie_id))
            self._channels[bookie_id] = channel
            if self._closed:
                channel.close()
        return channel

    def close(self) -> Any:
        """Drop every connection and make no more: requests fail with ClientClosed.  Fires when all are gone."""
        self._closed = True
        return self._driver.spawn(all_of([channel.close() for channel in self._channels.values()]))

"""The objects that every handle of one client shares."""

from collections.abc import Callable

from attrs import Factory, field, frozen

from bookkeeper_tx.client.bookie_watcher import BookieWatcher
from bookkeeper_tx.client.capability import Capabilities
from bookkeeper_tx.client.channel import Channel, Channels
from bookkeeper_tx.client.read_order import ReadOrder
from bookkeeper_tx.client.scoped_channel import ScopedChannel
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.driver import Clock, Driver
from bookkeeper_tx.errors import BookKeeperError, ClientClosed, MetadataUnavailable
from bookkeeper_tx.metadata.interfaces import ClientMetadataStore
from bookkeeper_tx.model import BookieId
from protocol_specs.ledger_id import SCOPED_MIN


@frozen
class ClientContext:
    """The objects that every handle of one client shares."""

    store: ClientMetadataStore
    channels: Channels
    config: ClientConfig
    driver: Driver
    bookies: BookieWatcher
    reads: ReadOrder
    capabilities: Capabilities
    """The bookies that serve batch read in the protocol version of this client."""
    scopes: Capabilities = field(
        default=Factory(
            lambda context: Capabilities(context.clock, context.config.batch_read_capability_expiry_s), takes_self=True
        )
    )
    """The bookies that know ledger scopes."""

    @property
    def clock(self) -> Clock:
        """The clock of the driver."""
        return self.driver.clock

    def rank(self) -> Callable[[BookieId], tuple[bool, float]]:
        """Return the function that says how late a bookie is asked: last while it is slow or in quarantine."""
        quarantined, last = self.bookies.quarantined, self.reads.last
        return lambda bookie_id: (bookie_id in quarantined, last.get(bookie_id, 0.0))

    def store_error(self, error: MetadataUnavailable) -> BookKeeperError:
        """Return what a handle tells of ``error``: that its client was closed, if that is why."""
        return ClientClosed() if self.bookies.stopped else error

    def channel(self, bookie_id: BookieId, ledger_id: int) -> Channel:
        """Return the channel for requests about ``ledger_id`` to a bookie."""
        return self.channels.channel(bookie_id) if ledger_id < SCOPED_MIN else self.scoped_channel(bookie_id, ledger_id)

    def scoped_channel(self, bookie_id: BookieId, ledger_id: int) -> ScopedChannel:
        """Return the channel for requests about ``ledger_id``, of a scope other than 0, to a bookie."""
        channel = self.channels.channel(bookie_id)
        return ScopedChannel(self.scopes, self.store, self.driver, bookie_id, channel, ledger_id)

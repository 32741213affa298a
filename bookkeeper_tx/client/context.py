"""What every handle of one client shares, and what it expects of metadata store and connections."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from attrs import Factory, field, frozen
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from bookkeeper_tx.client.capability import Capabilities
from bookkeeper_tx.client.scoped_channel import ScopedChannel
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.entry_run import EntryRun
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import BookieId, BookieServiceInfo, LedgerMetadata, Versioned
from protocol_specs.ledger_id import SCOPED_MIN

if TYPE_CHECKING:
    from bookkeeper_tx.client.bookie_watcher import BookieWatcher

Done = Callable[[BookKeeperError | None, Any], Any]
"""Called exactly once with an error or a value, never before the call that was given it has returned."""


class Channel(Protocol):
    """Requests to one bookie, whatever connections they need."""

    @property
    def connections_made(self) -> int:
        """How many connections for adds there have been: while it stays the same, it is the same bookie process."""

    def add_entry(
        self,
        ledger_id: int,
        entry_id: int,
        entry: bytes,
        master_key: bytes,
        done: Done,
        flags: int = 0,
        deferred_sync: bool = False,
    ) -> None: ...

    def read_entry(
        self, ledger_id: int, entry_id: int, done: Done, flags: int = 0, master_key: bytes | None = None
    ) -> None: ...

    def read_range(self, ledger_id: int, first_entry_id: int, last_entry_id: int, done: Done) -> None: ...

    def batch_read(
        self,
        ledger_id: int,
        start_entry_id: int,
        max_count: int,
        max_size: int,
        done: Callable[[BookKeeperError | None, EntryRun], Any],
        flags: int = 0,
        master_key: bytes | None = None,
        own_connection: bool = False,
    ) -> None: ...

    def read_last_add_confirmed(self, ledger_id: int, done: Done, own_connection: bool = False) -> None: ...

    def wait_last_add_confirmed(
        self, ledger_id: int, previous_last_add_confirmed: int, timeout_ms: int, piggyback: bool, done: Done
    ) -> Callable[[], None]: ...

    def force_ledger(self, ledger_id: int, done: Done) -> None: ...

    def list_entries(self, ledger_id: int, done: Done) -> None: ...

    def write_last_add_confirmed(
        self, ledger_id: int, last_add_confirmed: int, master_key: bytes, body: bytes, done: Done
    ) -> None: ...


class MetadataStore(Protocol):
    """The part of :class:`~bookkeeper_tx.interfaces.IMetadataStore` that a client uses, with types."""

    def start(self) -> Deferred[None]: ...

    def stop(self) -> Deferred[None]: ...

    def new_ledger_id(self) -> Deferred[int]: ...

    def create_ledger(self, ledger_id: int, metadata: LedgerMetadata) -> Deferred[Versioned]: ...

    def read_ledger(self, ledger_id: int) -> Deferred[Versioned]: ...

    def write_ledger(self, ledger_id: int, metadata: LedgerMetadata, version: int) -> Deferred[Versioned]: ...

    def delete_ledger(self, ledger_id: int) -> Deferred[None]: ...

    def list_ledgers(self, scope_id: int | None = 0) -> Deferred[list[int]]: ...

    def watch_ledger(self, ledger_id: int, changed: Callable[[], None]) -> Callable[[], None]: ...

    def writable_bookies(self) -> Deferred[frozenset[BookieId]]: ...

    def bookie_info(self, bookie_id: BookieId) -> Deferred[BookieServiceInfo]: ...

    def watch_bookies(self, changed: Callable[[], None]) -> Callable[[], None]: ...


class Channels(Protocol):
    """The channels to all bookies."""

    def channel(self, bookie_id: BookieId) -> Channel: ...

    def close(self) -> Deferred[None]: ...


@frozen
class ClientContext:
    """What every handle of one client shares."""

    store: MetadataStore
    channels: Channels
    config: ClientConfig
    clock: IReactorTime
    bookies: "BookieWatcher"
    capabilities: Capabilities
    """Who serves batch read in the dialect of this client."""
    scopes: Capabilities = field(
        default=Factory(
            lambda context: Capabilities(context.clock, context.config.batch_read_capability_expiry_s), takes_self=True
        )
    )
    """Who knows ledger scopes."""

    def channel(self, bookie_id: BookieId, ledger_id: int) -> Channel:
        """Return the channel for requests about ``ledger_id`` to a bookie."""
        channel = self.channels.channel(bookie_id)
        if ledger_id < SCOPED_MIN:
            return channel
        return ScopedChannel(self, bookie_id, channel, ledger_id)

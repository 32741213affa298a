"""Requests about ledgers of a scope other than 0 (BP-34), only to bookies that know scopes.

A bookie that knows no scopes overlooks the scope and would serve the ledger of the same lower half in scope 0.  So no
request is sent before the client knows that the bookie knows scopes.  The client takes that from the capabilities that
the bookie publishes.  If it publishes nothing, or nobody can tell in time, the client sends a harmless read of the last
add confirmed on a connection of its own: the answer of a bookie that knows scopes repeats the scope.
"""

from collections.abc import Callable, Sequence
from typing import Any

from bookkeeper_tx.client.capability import Capabilities, Capability
from bookkeeper_tx.client.channel import Channel, Done
from bookkeeper_tx.client.published import ask_published
from bookkeeper_tx.driver import Driver
from bookkeeper_tx.errors import (
    BookKeeperError,
    LedgerScopeNotSupported,
    NoSuchEntry,
    NoSuchLedger,
    StorageFailed,
    UnknownLedgerState,
)
from bookkeeper_tx.metadata.interfaces import ClientMetadataStore
from bookkeeper_tx.model import BookieId, BookieServiceInfo, ledger_name
from bookkeeper_tx.protocol.client.requests.last_add_confirmed import ReadLastAddConfirmed
from bookkeeper_tx.protocol.client.requests.request import Request
from bookkeeper_tx.protocol.client.slow_requests import tell_slow
from bookkeeper_tx.transport.in_flight import InFlight
from protocol_specs.metadata.bookie import LEDGER_SCOPE_ID

ANSWERS = (NoSuchEntry, NoSuchLedger, StorageFailed, UnknownLedgerState)
"""Errors of a bookie that has looked for the ledger; its answer repeated the scope."""


class _Waiting:
    """A request that waits to know whether its bookie knows scopes."""

    __slots__ = ("_channel", "_done", "_request")

    def __init__(self, channel: "ScopedChannel", done: Done, request: Callable[[Done], Any]) -> None:
        self._channel, self._done, self._request = channel, done, request

    def known(self, error: BookKeeperError | None) -> None:
        self._channel.known(self._done, self._request, error)

    def slow(self) -> None:
        self._done = tell_slow(self._done)


class ScopedChannel:
    """A channel for requests about one ledger of a scope other than 0.

    Requests wait until it is known whether the bookie knows scopes.
    """

    def __init__(
        self,
        scopes: Capabilities,
        store: ClientMetadataStore,
        driver: Driver,
        bookie_id: BookieId,
        channel: Channel,
        ledger_id: int,
    ) -> None:
        self._scopes = scopes
        self._store = store
        self._driver = driver
        self._clock = driver.clock
        self._bookie_id = bookie_id
        self._channel = channel
        self._ledger_id = ledger_id

    @property
    def interruptions(self) -> int:
        return self._channel.interruptions

    @property
    def congested(self) -> bool:
        return self._channel.congested

    def before_send(self, call: Callable[[], None]) -> bool:
        return self._channel.before_send(call)

    # The requests ----------------------------------------------------------------------------------------------------

    def add_entry(
        self,
        ledger_id: int,
        entry_id: int,
        entry: bytes,
        master_key: bytes,
        done: Done,
        flags: int = 0,
        deferred_sync: bool = False,
    ) -> None:
        channel = self._channel
        self._when_known(
            done, lambda done: channel.add_entry(ledger_id, entry_id, entry, master_key, done, flags, deferred_sync)
        )

    def add_entries(
        self, ledger_id: int, first_entry_id: int, entries: Sequence[bytes], master_key: bytes, done: Done
    ) -> None:
        channel = self._channel
        self._when_known(done, lambda done: channel.add_entries(ledger_id, first_entry_id, entries, master_key, done))

    def read_entry(
        self, ledger_id: int, entry_id: int, done: Done, flags: int = 0, master_key: bytes | None = None
    ) -> None:
        self._when_known(done, lambda done: self._channel.read_entry(ledger_id, entry_id, done, flags, master_key))

    def read_range(
        self, ledger_id: int, first_entry_id: int, last_entry_id: int, done: Done, size_max: int | None = None
    ) -> None:
        entry_ids = first_entry_id, last_entry_id
        self._when_known(done, lambda done: self._channel.read_range(ledger_id, *entry_ids, done, size_max))

    def send(self, request: Request, done: Done, own_connection: bool = False) -> Callable[[], None]:
        in_flight = InFlight(done)

        def ask(finished: Done) -> None:
            if in_flight.done is not None:
                in_flight.forget = self._channel.send(request, finished, own_connection)

        self._when_known(in_flight.finished, ask)
        return in_flight.cancel

    # Whether the bookie knows scopes ---------------------------------------------------------------------------------

    def find_out(self, done: Done) -> None:
        """Call ``done`` with LedgerScopeNotSupported if the bookie knows no scopes, with None if it does."""
        self._when_known(done, lambda done: self._clock.callLater(0, done, None, None))

    def slow(self) -> None:
        """The probe takes long: tell those that wait for it."""
        self._scopes.slow(self._bookie_id)

    def _when_known(self, done: Done, request: Callable[[Done], Any]) -> None:
        scopes, bookie_id = self._scopes, self._bookie_id
        capability = scopes.of(bookie_id, self._channel.interruptions)
        if capability is Capability.SERVES:
            request(done)
        elif capability is Capability.LACKS:
            self._clock.callLater(0, done, self._not_supported(), None)
        else:
            if capability is Capability.UNKNOWN:
                scopes.begin_probe(bookie_id)
            scopes.wait(bookie_id, _Waiting(self, done, request).known)
            if capability is Capability.UNKNOWN:
                ask_published(self._driver, self._store, bookie_id, self._published)

    def known(self, done: Done, request: Callable[[Done], Any], error: BookKeeperError | None) -> None:
        """Make ``request``, since the bookie knows scopes, or fail it."""
        if error is None:
            self._when_known(done, request)
        else:
            self._clock.callLater(0, done, error, None)

    def _published(self, info: BookieServiceInfo | None) -> None:
        if info is None or info.extensions is None:
            self._channel.send(ReadLastAddConfirmed(self._ledger_id), self._probed, own_connection=True)
        elif LEDGER_SCOPE_ID in info.extensions:
            self._scopes.serves(self._bookie_id)  # as good as an answer
        else:
            self._scopes.lacks(self._bookie_id)

    def _probed(self, error: BookKeeperError | None, _: Any) -> None:
        scopes = self._scopes
        if error is None or isinstance(error, ANSWERS):
            scopes.serves(self._bookie_id)
        elif isinstance(error, LedgerScopeNotSupported):
            scopes.lacks(self._bookie_id)
        else:
            self._not_told(error)

    def _not_told(self, error: BookKeeperError) -> None:
        """The bookie could not be asked whether it knows scopes, for the first time or again after the expiry."""
        if self._scopes.ever_served(self._bookie_id):
            # There was no interruption, so it is the same process, and its capabilities have not changed.
            self._scopes.serves(self._bookie_id)
        else:
            self._scopes.unknown(self._bookie_id, error)

    def _not_supported(self) -> LedgerScopeNotSupported:
        return LedgerScopeNotSupported(
            f"bookie {self._bookie_id} knows no ledger scopes (BP-34), so nothing was sent to it about ledger "
            f"{ledger_name(self._ledger_id)}"
        )

"""All requests to one bookie, and the choice of a connection for each."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.driver import Driver, all_of
from bookkeeper_tx.errors import IllegalOperation
from bookkeeper_tx.model import BookieServiceInfo
from bookkeeper_tx.protocol.client.requests.request import Request
from bookkeeper_tx.protocol.client.v2 import V2ClientConnection, out_of_reach
from bookkeeper_tx.protocol.client.v3 import V3ClientConnection
from bookkeeper_tx.transport.channel import Channel
from bookkeeper_tx.transport.client_link import ClientLink, Done
from bookkeeper_tx.transport.in_flight import InFlight
from bookkeeper_tx.transport.pace import Pace
from protocol_specs.ledger_id import SCOPED_MIN
from protocol_specs.wire.operations import Flag

NO_DEFERRED_SYNC = "V2 cannot say that the sync may be deferred: use ClientConfig.protocol v3"

MakeConnection: TypeAlias = Callable[[], V2ClientConnection | V3ClientConnection]


class BookieChannel:
    """Sends requests to one bookie.

    Adds and reads go over a connection of the configured protocol version.  The requests that V2 lacks (all about the
    last add confirmed, force, the list of entries) go over a second one, of V3, made when first needed.

    Fencing reads in V2 have a connection to themselves.  On one connection with plain reads of the same entry, whose
    replies look the same, the fencing read could take the "no such entry" of a plain read for its own answer, while the
    bookie is not fenced yet.  Recovery would then close the ledger before an entry that this bookie goes on to
    acknowledge.

    Every ``done`` but that of :meth:`add_entries` is called exactly once as ``done(error, value)``; none is called
    before the method has returned.
    """

    def __init__(
        self,
        driver: Driver,
        resolve: Callable[[], Awaitable[BookieServiceInfo]],
        config: ClientConfig,
        pace: Pace | None = None,
    ) -> None:
        self.pace = pace or Pace(config.speculative_read_s_max)
        """How fast the bookie answers reads."""
        self._driver = driver
        self._clock = driver.clock
        self._resolve = resolve
        self._config = config
        self._add_timeout_s, self._read_timeout_s = config.add_timeout_s, config.read_timeout_s
        self._v2 = self._channel(self._v2_connection)
        self._v2_fencing = self._channel(self._v2_connection)
        self._v3 = self._channel(self._v3_connection)
        self._main = self._v3 if config.protocol is WireProtocol.V3 else self._v2
        self._own: dict[Channel, None] = {}
        """Those of one request each, in the order in which they are closed."""
        self._closed = False

    @property
    def interruptions(self) -> int:
        """How often the connection for adds was lost or could not be made."""
        return self._main.interruptions

    @property
    def congested(self) -> bool:
        """Whether bytes wait to be sent on the connection for adds and reads, since the bookie does not take them."""
        link = self._main.link
        return link is not None and link.congested

    def before_send(self, call: Callable[[], None]) -> bool:
        """Have ``call``, which makes requests, called once before the next bytes are sent, or when the connection ends.

        Returns False, and does nothing, if there is no connection, or none that takes anything now.
        """
        link = self._main.link
        if link is None or link.overfull:
            return False
        link.before_send(call)
        return True

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
        """Add ``entry`` (as sealed by a digest); completes with None.

        With ``deferred_sync`` the bookie answers before the entry is durable; over V2, which cannot say so, that fails
        with IllegalOperation.
        """
        if deferred_sync:
            self._add_deferred(ledger_id, entry_id, entry, master_key, flags, done)
            return
        link = self._main.link
        if link is not None and not link.overfull:
            # The hot path: no closure for an add that is sent at once.
            if not link.awake:
                link.wake()
            deadline = link.now + self._add_timeout_s
            link.connection.add_entry(done, deadline, ledger_id, entry_id, entry, master_key, flags)
            return

        def add(link: ClientLink, deadline: float, done: Done) -> None:
            link.connection.add_entry(done, deadline, ledger_id, entry_id, entry, master_key, flags)

        self._when_connected(self._main, ledger_id, add, self._add_timeout_s, done)

    def add_entries(
        self, ledger_id: int, first_entry_id: int, entries: Sequence[bytes], master_key: bytes, done: Done
    ) -> None:
        """Add consecutive ``entries``, as sealed by a digest, over V2.

        Calls ``done`` as they are acknowledged, with the id of the first one that is not; from the first error on, with
        the ids of entries that were acknowledged, or that have the error.  With None the error is that of all.
        """

        def add(link: ClientLink, deadline: float, done: Done) -> None:
            connection: Any = link.connection
            connection.add_entries(done, deadline, ledger_id, first_entry_id, entries, master_key)

        self._when_connected(self._main, ledger_id, add, self._add_timeout_s, done)

    def read_entry(
        self, ledger_id: int, entry_id: int, done: Done, flags: int = 0, master_key: bytes | None = None
    ) -> None:
        """Read one entry; completes with its bytes, not verified."""
        channel = self._main
        if flags and flags & Flag.FENCING and channel is self._v2:
            channel = self._v2_fencing
        link = channel.link
        if link is not None and not link.overfull:
            if not link.awake:
                link.wake()
            deadline = link.now + self._read_timeout_s
            link.connection.read_entry(done, deadline, ledger_id, entry_id, flags, master_key)
            return

        def read(link: ClientLink, deadline: float, done: Done) -> None:
            link.connection.read_entry(done, deadline, ledger_id, entry_id, flags, master_key)

        self._when_connected(channel, ledger_id, read, self._read_timeout_s, done)

    def read_range(self, ledger_id: int, first: int, last: int, done: Done, size_max: int | None = None) -> None:
        """Read entries one by one, pipelined.

        Completes once: with the EntryRun, not verified, of the entries before the first error, or with that error if
        it is the very first entry's; or with fewer, as soon as they have ``size_max`` bytes.
        """

        def read(link: ClientLink, deadline: float, done: Done) -> None:
            link.connection.read_range(done, deadline, ledger_id, first, last, size_max)

        self._when_connected(self._main, ledger_id, read, self._read_timeout_s, done)

    def send(self, request: Request, done: Done, own_connection: bool = False) -> Callable[[], None]:
        """Make any other request; completes with the value that it says.

        Call the returned function to give it up: ``done`` is not called then.  A bookie that lacks an operation may
        close the connection, and then all requests in flight on it fail; so the first such request to an unknown bookie
        must have a connection of its own.
        """
        in_flight = InFlight(done)
        channel = self._main if request.in_v2 else self._v3
        own_connection = own_connection or request.own_connection
        if own_connection:
            make_connection = self._main_connection if request.in_v2 else self._v3_connection
            channel = self._own_channel(make_connection, in_flight)

        def make(link: ClientLink, deadline: float, done: Done) -> None:
            if in_flight.done is not None:
                forget = link.connection.send(request, done, deadline)
                in_flight.forget = in_flight.forget or forget

        timeout_s = request.patience_s + self._read_timeout_s
        self._when_connected(channel, request.ledger_id, make, timeout_s, in_flight.finished)
        return in_flight.cancel

    def close(self) -> Any:
        """Drop every connection; requests in flight fail with an error."""
        self._closed = True
        channels = (self._v2, self._v2_fencing, self._v3, *self._own)
        return self._driver.spawn(all_of([each.close() for each in channels]))

    def _when_connected(
        self,
        channel: Channel,
        ledger_id: int,
        make: Callable[[ClientLink, float, Done], None],
        timeout_s: float,
        done: Done,
    ) -> None:
        """Call ``make`` with a connection, and with the deadline and ``done`` of the request that it is to make."""

        def request(link: ClientLink, done: Done) -> None:
            if not link.awake:
                link.wake()
            make(link, link.now + timeout_s, done)

        if not self._refused(ledger_id, done):
            channel.send(request, done)

    def _refused(self, ledger_id: int, done: Done) -> bool:
        """Return whether V2 cannot name this ledger; if so, the request fails with IllegalOperation."""
        if ledger_id < SCOPED_MIN or self._main is self._v3:
            return False
        self._clock.callLater(0, done, out_of_reach(ledger_id), None)
        return True

    def _add_deferred(
        self, ledger_id: int, entry_id: int, entry: bytes, master_key: bytes, flags: int, done: Done
    ) -> None:
        if self._main is self._v2:
            self._clock.callLater(0, done, IllegalOperation(NO_DEFERRED_SYNC), None)
            return

        def add(link: ClientLink, deadline: float, done: Done) -> None:
            connection: Any = link.connection
            connection.add_entry(done, deadline, ledger_id, entry_id, entry, master_key, flags, True)

        self._when_connected(self._main, ledger_id, add, self._add_timeout_s, done)

    def _own_channel(self, make_connection: MakeConnection, in_flight: InFlight) -> Channel:
        """Return a channel for one request, which is closed with it."""
        channel = self._channel(make_connection)
        self._own[channel] = None
        if self._closed:
            channel.close()

        def over() -> None:
            self._own.pop(channel, None)
            channel.close()

        in_flight.forget, in_flight.over = channel.close, over
        return channel

    def _channel(self, make_connection: MakeConnection) -> Channel:
        return Channel(self._driver, self._resolve, make_connection, self._config, self.pace)

    def _main_connection(self) -> V2ClientConnection | V3ClientConnection:
        return self._v3_connection() if self._main is self._v3 else self._v2_connection()

    def _v2_connection(self) -> V2ClientConnection:
        return V2ClientConnection(self._config.frame_size_max)

    def _v3_connection(self) -> V3ClientConnection:
        return V3ClientConnection(self._config.frame_size_max)

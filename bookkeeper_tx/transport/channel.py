"""A connection to one bookie in one protocol version: made on demand, and made again after it was lost."""

from collections.abc import Callable
from enum import Enum
from math import inf
from typing import Any, TypeAlias

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.driver import Driver, Promise, Timer
from bookkeeper_tx.errors import (
    AuthenticationFailed,
    AuthenticationUnanswered,
    BookieUnavailable,
    BookKeeperError,
    CannotConnect,
    ClientClosed,
    LocalError,
    TlsFailed,
)
from bookkeeper_tx.model import BookieServiceInfo
from bookkeeper_tx.protocol.client.v2 import V2ClientConnection
from bookkeeper_tx.protocol.client.v3 import V3ClientConnection
from bookkeeper_tx.transport.client_link import ClientLink, Done
from bookkeeper_tx.transport.pace import Pace
from bookkeeper_tx.transport.slow_reads import tell

QUEUE_MAX = 50_000
"""Requests that may wait for a connection to be made."""

Connection = V2ClientConnection | V3ClientConnection

Send: TypeAlias = Callable[[ClientLink, Done], None]
"""Makes a request on a connection, with what is to be called when it ends."""


class ChannelState(Enum):
    """The life of a channel.

    ====================  =====================================================================
    state                 a request …
    ====================  =====================================================================
    IDLE                  starts a connection attempt and waits for it
    CONNECTING            waits, until TLS and authentication are done as well
    CONNECTED             is sent
    RESTING               fails at once: an attempt failed less than ``reconnect_delay_s`` ago
    CLOSED                fails at once
    ====================  =====================================================================
    """

    IDLE = "idle"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    RESTING = "resting"
    CLOSED = "closed"


class Channel:
    """Sends requests over a connection, which it makes again after a loss.

    A request is a function that takes a link and ``done`` and makes the request on it.  Its ``done`` is called with an
    error at most once, never before :meth:`send` has returned.  ``pace`` is that of the bookie's reads.
    """

    def __init__(
        self,
        driver: Driver,
        resolve: Callable[[], Any],
        make_connection: Callable[[], Connection],
        config: ClientConfig,
        pace: Pace,
    ) -> None:
        self._driver = driver
        self._pace = pace
        self._slow_call: Timer | None = None
        """When the requests are told that wait for a connection."""
        self._resolve = resolve
        self._make_connection = make_connection
        self._config = config
        self._state = ChannelState.IDLE
        self.link: ClientLink | None = None
        """The connection while there is one; a caller may make a request on it directly, which is faster."""
        self.interruptions = 0
        """How often a connection was lost or could not be made so far."""
        self._queue: list[tuple[Send, Done]] = []
        self._failure: BookKeeperError = BookieUnavailable()
        self._closed: list[Promise[None]] = []
        self._securing: ClientLink | None = None
        """A connection that does not take requests yet."""

    def send(self, request: Send, done: Done) -> None:
        """Make ``request`` as soon as there is a connection; ``done`` is called with the error if there is none."""
        if self._state is ChannelState.CONNECTED:
            assert self.link is not None
            if self.link.overfull:
                self._fail(done, BookieUnavailable("the bookie does not take what is sent to it"))
            else:
                request(self.link, done)
        elif self._state in (ChannelState.RESTING, ChannelState.CLOSED):
            self._fail(done, self._failure)
        elif len(self._queue) >= QUEUE_MAX:
            self._fail(done, BookieUnavailable(f"{QUEUE_MAX} requests already wait for a connection to be made"))
        else:
            self._queue.append((request, done))
            if self._state is ChannelState.IDLE:
                self._connect()

    def close(self) -> Promise[None]:
        """Drop the connection; requests that wait fail with ClientClosed."""
        if self.link is not None:
            self.link.end_turn()
        self._failure = ClientClosed()
        connected = self._state is ChannelState.CONNECTED
        self._state = ChannelState.CLOSED
        self._end_slow_call()
        self._fail_queue()
        closed: Promise[None] = self._driver.promise()
        dropped = self.link if connected else self._securing
        if dropped is not None and dropped.ended is None:
            self._closed.append(closed)
            dropped.drop(self._failure)
        else:
            closed.callback(None)
        return closed

    def _fail(self, done: Done, error: BookKeeperError) -> None:
        self._driver.clock.callLater(0, done, error, None)

    def _connect(self) -> None:
        self._state = ChannelState.CONNECTING
        if self._pace.connecting_s < inf:
            self._slow_call = self._driver.clock.callLater(self._pace.connecting_s, self._connecting_slowly)
        self._driver.when_done(self._driver.spawn(self._open()), self._opened)

    def _connecting_slowly(self) -> None:
        """Tell those that wait for the connection, and those that come to wait meanwhile."""
        queue, self._queue = self._queue, []
        self._queue = [(request, tell(self._driver, done)) for request, done in queue] + self._queue
        self._slow_call = self._driver.clock.callLater(self._pace.connecting_s, self._connecting_slowly)

    def _end_slow_call(self) -> None:
        if self._slow_call is not None:
            self._slow_call.cancel()
            self._slow_call = None

    async def _open(self) -> ClientLink:
        config = self._config
        info: BookieServiceInfo = await self._resolve()
        link = ClientLink(self._driver, self._make_connection(), self._lost, config, self._pace)
        await self._driver.connect(info.host, info.port, config.connect_timeout_s, link, config.tls)
        if link.ended is not None:
            raise link.ended
        if (config.tls is None and config.auth is None) or self._state is ChannelState.CLOSED:
            return link
        self._securing = link
        return await link.secure(info.host, config.tls is not None, config.auth, config.connect_timeout_s)

    def _opened(self, error: Exception | None, link: Any) -> None:
        self._end_slow_call()
        if error is None:
            self._connected(link)
        else:
            self._not_connected(error)

    def _connected(self, link: ClientLink) -> None:
        if self._state is ChannelState.CLOSED:
            link.wire.abort()
            return
        if link.ended is not None:
            # It was lost before its driver came to tell us of it.
            self._not_connected(link.ended)
            return
        self._state = ChannelState.CONNECTED
        self._securing = None
        self.link = link
        queue, self._queue = self._queue, []
        for request, done in queue:
            request(link, done)

    def _not_connected(self, error: Exception) -> None:
        self._securing = None
        if self._state is ChannelState.CLOSED:
            return
        self.interruptions += 1
        if isinstance(error, AuthenticationFailed | AuthenticationUnanswered | TlsFailed | LocalError):
            self._failure = error
        else:
            self._failure = CannotConnect(f"cannot connect: {error}")
        self._rest()
        self._fail_queue()

    def _lost(self, _: ClientLink, error: BookKeeperError) -> None:
        self.link = None
        if self._state is ChannelState.CONNECTED:
            self.interruptions += 1
            # A connection that worked may be made again at once: the bookie may just have restarted.
            self._state = ChannelState.IDLE
            if isinstance(error, TlsFailed):
                # The bookie has refused our certificate; on a new connection it would do so again at once.
                self._failure = error
                self._rest()
        for closed in self._closed:
            closed.callback(None)
        self._closed.clear()

    def _rest(self) -> None:
        self._state = ChannelState.RESTING
        self._driver.clock.callLater(self._config.reconnect_delay_s, self._rested)

    def _rested(self) -> None:
        if self._state is ChannelState.RESTING:
            self._state = ChannelState.IDLE

    def _fail_queue(self) -> None:
        queue, self._queue = self._queue, []
        for _, done in queue:
            self._fail(done, self._failure)

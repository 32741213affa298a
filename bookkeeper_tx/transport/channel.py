"""A connection to one bookie in one protocol version: made on demand, and made again after it was lost."""

from collections.abc import Callable
from enum import Enum
from typing import Any

from twisted.internet.abstract import isIPAddress
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, TCP4ClientEndpoint
from twisted.internet.protocol import Factory
from twisted.python.failure import Failure

from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.errors import (
    AuthenticationFailed,
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
from bookkeeper_tx.transport.client_protocol import ClientProtocol, Done

QUEUE_MAX = 50_000
"""Requests that may wait for a connection to be made."""

Connection = V2ClientConnection | V3ClientConnection


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

    A request is a function that takes a protocol and makes the request on it.  Its ``done`` is called with an error at
    most once, never before :meth:`send` has returned.
    """

    def __init__(
        self,
        reactor: Any,
        resolve: Callable[[], Deferred[BookieServiceInfo]],
        make_connection: Callable[[], Connection],
        config: ClientConfig,
    ) -> None:
        self._reactor = reactor
        self._resolve = resolve
        self._make_connection = make_connection
        self._config = config
        self._state = ChannelState.IDLE
        self.protocol: ClientProtocol | None = None
        """The connection while there is one; a caller may make a request on it directly, which is faster."""
        self.interruptions = 0
        """How often a connection was lost or could not be made so far."""
        self._queue: list[tuple[Callable[[ClientProtocol], None], Done]] = []
        self._failure: BookKeeperError = BookieUnavailable()
        self._closed: list[Deferred[None]] = []
        self._tls: Any = None
        self._securing: ClientProtocol | None = None
        """A connection that does not take requests yet."""

    def send(self, request: Callable[[ClientProtocol], None], done: Done) -> None:
        """Make ``request`` as soon as there is a connection; ``done`` is called with the error if there is none."""
        if self._state is ChannelState.CONNECTED:
            assert self.protocol is not None
            if self.protocol.overfull:
                self._fail(done, BookieUnavailable("the bookie does not take what is sent to it"))
            else:
                request(self.protocol)
        elif self._state in (ChannelState.RESTING, ChannelState.CLOSED):
            self._fail(done, self._failure)
        elif len(self._queue) >= QUEUE_MAX:
            self._fail(done, BookieUnavailable(f"{QUEUE_MAX} requests already wait for a connection to be made"))
        else:
            self._queue.append((request, done))
            if self._state is ChannelState.IDLE:
                self._connect()

    def close(self) -> Deferred[None]:
        """Drop the connection; requests that wait fail with ClientClosed."""
        if self.protocol is not None:
            self.protocol.end_turn()
        self._failure = ClientClosed()
        connected = self._state is ChannelState.CONNECTED
        self._state = ChannelState.CLOSED
        self._fail_queue()
        closed: Deferred[None] = Deferred()
        dropped = self.protocol if connected else self._securing
        if dropped is not None:
            self._closed.append(closed)
            dropped.drop(self._failure)
        else:
            closed.callback(None)
        return closed

    def _fail(self, done: Done, error: BookKeeperError) -> None:
        self._reactor.callLater(0, done, error, None)

    def _connect(self) -> None:
        self._state = ChannelState.CONNECTING
        attempt = self._resolve()
        attempt.addCallback(self._open)
        attempt.addCallbacks(self._connected, self._not_connected)

    def _open(self, info: BookieServiceInfo) -> Deferred[ClientProtocol]:
        timeout_s = self._config.connect_timeout_s
        if self._config.tls is not None and self._tls is None:
            # Before there is a connection, which would be left open if the files cannot be used.
            from bookkeeper_tx.transport.tls import ClientTls

            self._tls = ClientTls(self._config.tls, self._reactor)
        # An address needs no resolver, which would cost a turn of a thread pool.
        kind = TCP4ClientEndpoint if isIPAddress(info.host) else HostnameEndpoint
        endpoint = kind(self._reactor, info.host, info.port, timeout=timeout_s)
        factory = Factory.forProtocol(self._make_protocol)
        factory.noisy = False
        connecting: Deferred[ClientProtocol] = endpoint.connect(factory)  # type: ignore[assignment]
        if self._config.tls is not None or self._config.auth is not None:
            connecting.addCallback(self._secure, info.host)
        return connecting

    def _secure(self, protocol: ClientProtocol, host: str) -> Deferred[ClientProtocol] | ClientProtocol:
        """Do the handshakes of a new connection, until it takes requests."""
        if self._state is ChannelState.CLOSED:
            return protocol
        self._securing = protocol
        return protocol.secure(host, self._tls, self._config.auth, self._config.connect_timeout_s)

    def _make_protocol(self) -> ClientProtocol:
        return ClientProtocol(self._reactor, self._make_connection(), self._lost, self._config)

    def _connected(self, protocol: ClientProtocol) -> None:
        if self._state is ChannelState.CLOSED:
            protocol.transport.abortConnection()
            return
        self._state = ChannelState.CONNECTED
        self._securing = None
        self.protocol = protocol
        queue, self._queue = self._queue, []
        for request, _ in queue:
            request(protocol)

    def _not_connected(self, failure: Failure) -> None:
        self._securing = None
        if self._state is ChannelState.CLOSED:
            return
        self.interruptions += 1
        if isinstance(failure.value, AuthenticationFailed | TlsFailed | LocalError):
            self._failure = failure.value
        else:
            self._failure = CannotConnect(f"cannot connect: {failure.getErrorMessage()}")
        self._rest()
        self._fail_queue()

    def _lost(self, protocol: ClientProtocol, error: BookKeeperError) -> None:
        self.protocol = None
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
        self._reactor.callLater(self._config.reconnect_delay_s, self._rested)

    def _rested(self) -> None:
        if self._state is ChannelState.RESTING:
            self._state = ChannelState.IDLE

    def _fail_queue(self) -> None:
        queue, self._queue = self._queue, []
        for _, done in queue:
            self._fail(done, self._failure)

"""The part of a bookie's connection that lets a client through TLS and authentication."""

from abc import abstractmethod
from hashlib import sha256
from typing import Any

from twisted.internet.interfaces import IDelayedCall, IHandshakeListener, ITCPTransport
from twisted.internet.protocol import Protocol
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from bookkeeper_tx.protocol.bookie.auth import ServerGate
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import Buffer, ConnectionEvent, StartTls
from bookkeeper_tx.security.authentication import ConnectionPeer
from bookkeeper_tx.security.tls_reasons import reason_of
from bookkeeper_tx.transport.bookie_security import Security


@implementer(IHandshakeListener)
class SecuredProtocol(Protocol):
    """Puts the gate of the plugin, if there is one, before all requests, and starts TLS when the client asks for it."""

    log = Logger()
    transport: ITCPTransport

    def __init__(self, connection: ServerConnection, security: Security) -> None:
        self._connection = connection
        self._security = security
        self.peer = ConnectionPeer("")
        """The client's address, certificate and name, as far as they are known."""
        self.connected_to_client = False
        self._gate: ServerGate | None = None
        self._start_tls_failed = b""
        """The reply to START_TLS if the plugin refuses the client's certificate."""
        self._securing = False
        """Whether the TLS handshake is under way: a write would stop its reading, and it would wait for ever."""
        self._handshake_timeout: IDelayedCall | None = None

    @abstractmethod
    def _send(self, parts: list[Buffer]) -> None:
        """Send a reply, or keep it while the TLS handshake is under way."""

    @abstractmethod
    def _send_held(self) -> None:
        """Send the replies that were kept."""

    @abstractmethod
    def _answered_later(self, event: ConnectionEvent) -> None:
        """Take the event of a provider that did not answer at once."""

    @abstractmethod
    def _abort(self) -> None:
        """Close the connection at once."""

    def _secure(self) -> None:
        """Put the gate of the plugin, if there is one, before all requests."""
        address: Any = self.transport.getPeer()
        self.peer.address = f"{getattr(address, 'host', address)}:{getattr(address, 'port', '')}"
        if self._security.tls is not None:
            self._connection.offer_tls()
        if self._security.auth is not None:
            self._gate = self._connection.require_authentication(self._security.auth, self.peer, self._answered_later)
            self._limit_handshake()

    def _limit_handshake(self) -> None:
        if self._handshake_timeout is None:
            clock, timeout_s = self._security.clock, self._security.timeout_s
            assert clock is not None
            self._handshake_timeout = clock.callLater(timeout_s, self._handshake_overdue)

    def _handshake_overdue(self) -> None:
        """Close a connection that is still in its handshake, or whose refused client does not take the last reply."""
        self._handshake_timeout = None
        if self._securing or not self.connected_to_client or (self._gate is not None and not self._gate.opened):
            self.log.info(
                "closing the connection from {peer}: not through TLS and authentication after {limit} s",
                peer=self.peer.address,
                limit=self._security.timeout_s,
            )
            self._abort()

    def _start_tls(self, request: StartTls) -> None:
        """Send the held replies and this one in clear; all later bytes are inside TLS."""
        self._send_held()
        self._send([request.accepted])
        self._start_tls_failed = request.failed
        self._connection.secured()
        self._securing = True
        self._limit_handshake()
        self.transport.startTLS(self._security.tls)  # type: ignore[attr-defined]

    def handshakeCompleted(self) -> None:
        """Show the client's certificate to the plugin; a refused client gets a reply, and stays outside the gate."""
        from bookkeeper_tx.transport.tls import peer_certificate

        self._securing = False
        self.peer.secure = True
        self.peer.certificate = peer_certificate(self.transport)
        shown = sha256(self.peer.certificate).hexdigest() if self.peer.certificate else "none"
        self.log.info("{peer} is inside TLS, its certificate: sha256 {shown}", peer=self.peer.address, shown=shown)
        if self._gate is not None:
            self._gate.secured()
            if self._gate.refused:
                self._send([self._start_tls_failed])
        self._send_held()

    def _handshake_lost(self, reason: Failure) -> None:
        """End the handshake of a lost client."""
        if self._start_tls_failed and not self.peer.secure:
            assert reason.value is not None
            self.log.info("no TLS with {peer}: {why}", peer=self.peer.address, why=reason_of(reason.value))
        if self._handshake_timeout is not None:
            self._handshake_timeout.cancel()
            self._handshake_timeout = None

"""Connections without a reactor that take requests: made, secured, authenticated, within one time-out."""

import socket
import time
from typing import NoReturn

from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.errors import (
    AuthenticationFailed,
    AuthenticationUnanswered,
    BookKeeperError,
    CannotConnect,
    ProtocolViolation,
    TlsFailed,
)
from bookkeeper_tx.protocol.client.handshake import ClientHandshake, State, tells_unauthenticated
from bookkeeper_tx.security.authentication import ConnectionPeer
from bookkeeper_tx.security.client_context import client_context
from bookkeeper_tx.transport.blocking_socket import HANDSHAKE_RECEIVE_SIZE, Stream, TlsSocket, hear_reason
from bookkeeper_tx.transport.blocking_tls import TlsSession

NO_CREDENTIALS = (
    "it wants authentication, and none is configured: clientAuthProviderFactoryClass, java.security.auth.login.config"
)

CERTIFICATE_WANTED = ", or it wants a certificate of ours: tlsClientAuthentication, tlsCertificatePath, clientKeyStore"


def connect_to_bookie(host: str, port: int, config: ClientConfig, protocol: WireProtocol, bookie: str = "") -> Stream:
    """Connect, with TLS and authentication if ``config`` asks for them; return a stream whose calls never wait.

    ``protocol`` is the version of the requests, and so of authentication; errors call the bookie ``bookie``, which is
    ``host:port`` unless given.  All of it together may take ``config.connect_timeout_s``.

    Raises CannotConnect; TlsFailed for a bookie without TLS, or if one side does not accept the other's certificate;
    AuthenticationFailed for a refusal, AuthenticationUnanswered for a bookie that hangs or ends the connection instead;
    InvalidConfig for a file that cannot be used.
    """
    return _Connecting(host, port, config, protocol, bookie or f"{host}:{port}").stream()


class _Connecting:
    """Makes one connection that takes requests, as the driver of its :class:`ClientHandshake`."""

    def __init__(self, host: str, port: int, config: ClientConfig, protocol: WireProtocol, bookie: str) -> None:
        self._address = host, port
        self._config = config
        self._bookie = bookie
        # Before the connection, which would be useless without the files.
        self._context = None if config.tls is None else client_context(config.tls)
        self._deadline = time.monotonic() + config.connect_timeout_s
        try:
            self._socket = socket.create_connection(self._address, timeout=config.connect_timeout_s)
        except (OSError, UnicodeError) as error:
            raise CannotConnect(f"cannot connect to bookie {bookie}: {error}") from error
        self._session: TlsSession | None = None
        self._failure: BookKeeperError | None = None
        self._rest = b""
        self._unsent = b""
        peer = ConnectionPeer(f"{host}:{port}")
        secured = self._context is not None
        self._handshake = ClientHandshake(self, peer, secured, config.auth, protocol is WireProtocol.V2)

    def stream(self) -> Stream:
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._hand_over()
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            self._handshake.close()
            raise
        if self._session is None:
            return self._socket
        return TlsSocket(self._socket, self._session, self._look_at_first if self._config.auth is None else None)

    def _hand_over(self) -> None:
        """Go through the handshake."""
        handshake = self._handshake
        try:
            handshake.start()
            while self._failure is None:
                self._send_unsent()
                if handshake.state is State.COMPLETE:
                    break
                if handshake.state is State.SECURING:
                    handshake.secured(self._secure())
                else:
                    handshake.receive(self._receive())
        except TimeoutError as error:
            self._overdue(error)
        except OSError as error:
            if self._session is not None:
                hear_reason(self._socket, self._session)
            self._lost(str(error), error)
        if self._failure is not None:
            raise type(self._failure)(f"bookie {self._bookie}: {self._failure}")
        if self._rest:
            raise ProtocolViolation(f"bookie {self._bookie}: it sent bytes that nobody asked for")

    # HandshakeDriver -------------------------------------------------------------------------------------------------

    def send_handshake(self, data: bytes) -> None:
        # Not sent at once: the caller may be a plugin, which must not catch the errors of sending.
        self._unsent += data

    def start_tls(self) -> None:
        """Do nothing: the loop in :meth:`_hand_over` starts TLS."""

    def handshake_complete(self, rest: bytes) -> None:
        self._rest = rest

    def handshake_failed(self, error: BookKeeperError) -> None:
        self._failure = error

    # Bytes -----------------------------------------------------------------------------------------------------------

    def _secure(self) -> bytes | None:
        """Do the handshake of TLS; return the bookie's certificate."""
        assert self._context is not None
        session = TlsSession(self._context, self._address[0], self._bookie)
        try:
            over = session.shake_hands()
            while True:
                self._send(session.leaving())
                if over:
                    break
                over = session.shake_hands(self._received())
        except TlsFailed:
            self._give_reason(session)
            raise
        self._session = session
        return session.certificate

    def _receive(self) -> bytes:
        """Return the next bytes, taken out of their TLS records if there are any."""
        data = self._received()
        if self._session is None:
            return data
        opened = self._session.open(data)
        if self._session.ended and not opened:
            self._lost("with TLS's close_notify")
        return opened

    def _received(self) -> bytes:
        self._socket.settimeout(self._left_s())
        data = self._socket.recv(HANDSHAKE_RECEIVE_SIZE)
        if not data:
            self._lost("without a reason")
        return data

    def _send_unsent(self) -> None:
        data, self._unsent = self._unsent, b""
        self._send(data if self._session is None else self._session.seal(data))

    def _send(self, data: bytes) -> None:
        if data:
            self._socket.settimeout(self._left_s())
            self._socket.sendall(data)

    def _give_reason(self, session: TlsSession) -> None:
        """Send the bookie the TLS alert with the reason, if it still reads."""
        try:
            self._send(session.leaving())
        except OSError:
            return

    def _left_s(self) -> float:
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        return left_s

    # Failures --------------------------------------------------------------------------------------------------------

    def _overdue(self, error: TimeoutError) -> NoReturn:
        state = self._handshake.state
        if state is State.AUTHENTICATING:
            raise AuthenticationUnanswered(
                f"bookie {self._bookie} left our credentials unanswered: they may be wrong"
            ) from error
        raise CannotConnect(f"bookie {self._bookie} did not answer in time while {state.value}") from error

    def _lost(self, how: str, error: OSError | None = None) -> NoReturn:
        state = self._handshake.state
        tls = self._config.tls
        hint = "" if tls is None or tls.client_authentication else CERTIFICATE_WANTED
        if state is State.AUTHENTICATING:
            raise AuthenticationUnanswered(
                f"bookie {self._bookie} closed the connection on our credentials: they may be wrong{hint}"
            ) from error
        raise TlsFailed(
            f"bookie {self._bookie} closed the connection while {state.value} ({how}): look at its log{hint}"
        ) from error

    def _look_at_first(self, data: bytes) -> None:
        if tells_unauthenticated(data):
            raise AuthenticationFailed(f"bookie {self._bookie}: {NO_CREDENTIALS}")

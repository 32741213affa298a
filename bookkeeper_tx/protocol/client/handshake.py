"""A client's way to a connection that takes requests: START_TLS, then authentication; no IO, no clock.

==============  =====================================================  ==========================================
state           what comes                                             what follows
==============  =====================================================  ==========================================
ASKING_TLS      START_TLS, EOK                                         the TLS handshake: SECURING
ASKING_TLS      START_TLS, any other status                            FAILED, TlsFailed
SECURING        the end of the TLS handshake                           AUTHENTICATING, or COMPLETE without plugin
AUTHENTICATING  AUTH with a token                                      the provider's next token, or COMPLETE
AUTHENTICATING  AUTH of a bookie without authentication                COMPLETE
AUTHENTICATING  the same, after a token from the bookie                FAILED, AuthenticationFailed
AUTHENTICATING  AUTH, V3, any status but EOK                           FAILED, AuthenticationFailed
AUTHENTICATING  any other reply                                        nothing: it is dropped
==============  =====================================================  ==========================================

The caller holds requests back until the handshake is complete.  The caller must also limit its time, because a Java
bookie sends no reply to a SASL response that it rejects.  Java's client (``AuthHandler``) sends its first token in
clear, before TLS; this one sends all tokens inside TLS.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol

from google.protobuf.message import DecodeError

from bookkeeper_tx.errors import AuthenticationFailed, BookKeeperError, ProtocolViolation, TlsFailed
from bookkeeper_tx.protocol import v2_auth_frame
from bookkeeper_tx.protocol.frame_buffer import FRAME_START, FrameBuffer
from bookkeeper_tx.security.authentication import ClientAuthProvider, ClientAuthProviderFactory, ConnectionPeer
from protocol_specs import codecs, fields
from protocol_specs.codecs import Malformed
from protocol_specs.wire import framing, v3, v3_pb2
from protocol_specs.wire import status as statuses
from protocol_specs.wire.auth import AUTH_DISABLED_PLUGIN
from protocol_specs.wire.operations import Operation, V3Operation

TOKEN_FRAME_SIZE_MAX = 64 * 1024
"""Largest frame in bytes that a bookie may send before the client is done; Kerberos tokens are the longest, with 12 KiB
or so."""

_pack_length = codecs.RECORD_LENGTH.pack_fixed
_unpack_length = codecs.RECORD_LENGTH.unpack_fixed
_LENGTH = fields.FRAME_LENGTH_SIZE


class State(Enum):
    """Where the handshake stands."""

    NEW = "new"
    ASKING_TLS = "asking for TLS"
    SECURING = "in the TLS handshake"
    AUTHENTICATING = "authenticating"
    COMPLETE = "complete"
    FAILED = "failed"


class HandshakeDriver(Protocol):
    """The connection as the handshake needs it."""

    def send_handshake(self, data: bytes) -> None:
        """Send ``data``."""

    def start_tls(self) -> None:
        """Start TLS, and call ``ClientHandshake.secured`` when its handshake is over."""

    def handshake_complete(self, rest: bytes) -> None:
        """Take requests from now on; ``rest`` are the bytes that came after the last answer."""

    def handshake_failed(self, error: BookKeeperError) -> None:
        """Drop the connection."""


class ClientHandshake:
    """The handshake of one connection.

    ``v2`` says in which protocol version to authenticate; TLS is always asked for in V3.
    """

    def __init__(
        self, driver: HandshakeDriver, peer: ConnectionPeer, tls: bool, auth: ClientAuthProviderFactory | None, v2: bool
    ) -> None:
        self.state = State.NEW
        self._driver = driver
        self._peer = peer
        self._tls = tls
        self._auth = auth
        self._v2 = v2
        self._provider: ClientAuthProvider | None = None
        self._bookie_sent_token = False
        """Whether the bookie has sent a token."""
        self._frames = FrameBuffer(TOKEN_FRAME_SIZE_MAX)
        self._txn_id = 0
        self._rest = b""

    def start(self) -> None:
        """Begin, on a connection that was just made."""
        if self._tls:
            self.state = State.ASKING_TLS
            self._send_v3(V3Operation.START_TLS, start_tls_request=v3_pb2.StartTlsRequest())
        else:
            self._authenticate()

    def secured(self, certificate: bytes | None) -> None:
        """Go on inside TLS; ``certificate`` (DER) is the bookie's."""
        self._peer.secure = True
        self._peer.certificate = certificate
        self._authenticate()

    def close(self) -> None:
        """Take note that the connection is gone."""
        self.state = State.FAILED
        if self._provider is not None:
            self._provider.close()

    def receive(self, data: bytes) -> None:
        """Take the bytes that the bookie sends until the handshake is complete."""
        try:
            self._receive(data)
        except Malformed as error:
            self._fail(ProtocolViolation(f"the bookie broke the handshake: {error}"))
        except ProtocolViolation as error:
            self._fail(error)

    # Replies ---------------------------------------------------------------------------------------------------------

    def _receive(self, data: bytes) -> None:
        buffer = self._frames.feed(data)
        position, end = 0, len(buffer)
        while end - position >= _LENGTH and self.state in (State.ASKING_TLS, State.AUTHENTICATING):
            frame_end = position + _LENGTH + self._frames.check(_unpack_length(buffer, position)[0])
            if frame_end > end:
                break
            # If the provider finishes inside `_take`, `_completed` needs the bytes after this frame.
            self._rest = buffer[frame_end:]
            self._take(buffer, position, frame_end)
            position = frame_end
        self._rest = b""
        if self.state in (State.ASKING_TLS, State.AUTHENTICATING):
            self._frames.keep(buffer, position)

    def _take(self, buffer: bytes, start: int, frame_end: int) -> None:
        frame = buffer[start + _LENGTH : frame_end]
        if frame and frame[0] >= framing.V3_FIRST_BYTE_MIN:
            self._take_v3(frame)
        elif self.state is State.ASKING_TLS:
            raise ProtocolViolation("the bookie sent a V2 frame before its reply to START_TLS")
        else:
            self._take_v2(buffer, start, frame_end)

    def _take_v3(self, frame: bytes) -> None:
        response = v3_pb2.Response()
        try:
            response.ParseFromString(frame)
        except DecodeError as error:
            raise ProtocolViolation(f"the bookie sent a frame that is no V3 reply: {error}") from error
        if not response.IsInitialized():
            raise ProtocolViolation("the bookie sent a V3 reply that lacks a field, or has an unknown value in it")
        operation, status = V3Operation(response.header.operation), statuses.BY_V3_CODE[response.status]
        if self.state is State.ASKING_TLS:
            self._take_start_tls(operation, status)
        elif operation is V3Operation.AUTH:
            if status is not statuses.EOK:
                self._fail(AuthenticationFailed(f"the bookie refused the credentials ({status.name})"))
            else:
                self._take_token(response.auth_response.auth_plugin_name, response.auth_response.payload)

    def _take_start_tls(self, operation: V3Operation, status: statuses.Status) -> None:
        if operation is not V3Operation.START_TLS:
            raise ProtocolViolation("the bookie answered something else than START_TLS")
        if status is statuses.EBADREQ:
            self._fail(TlsFailed("the bookie does not offer TLS: configure it there, or connect without"))
        elif status is not statuses.EOK:
            self._fail(TlsFailed(f"the bookie refused TLS ({status.name})"))
        elif self._rest:
            # Reading them later would take them for bytes that came inside TLS.
            raise ProtocolViolation("the bookie sent bytes in clear after its reply to START_TLS")
        else:
            self.state = State.SECURING
            self._driver.start_tls()

    def _take_v2(self, buffer: bytes, start: int, frame_end: int) -> None:
        if frame_end - start < FRAME_START.size:
            raise ProtocolViolation("the bookie sent a frame shorter than a header")
        if framing.split_header(FRAME_START.unpack_fixed(buffer, start)[1])[1] == Operation.AUTH:
            message = v2_auth_frame.decode(buffer, start, frame_end)[1]
            self._take_token(message.auth_plugin_name, message.payload)

    # Tokens ----------------------------------------------------------------------------------------------------------

    def _authenticate(self) -> None:
        self.state = State.AUTHENTICATING
        if self._auth is None:
            self._completed(None)
            return
        try:
            self._provider = self._auth.new_provider(self._peer, self._completed)
        except Exception as error:
            self._completed(error)
        else:
            self._ask(self._provider.start)

    def _take_token(self, plugin_name: str, token: bytes) -> None:
        assert self._auth is not None
        assert self._provider is not None
        if plugin_name == AUTH_DISABLED_PLUGIN and self._bookie_sent_token:
            # Java's `AuthHandler` accepts that, but then a bookie could leave out the proof of its own identity.
            self._fail(AuthenticationFailed("the bookie broke off before it proved its identity"))
        elif plugin_name == AUTH_DISABLED_PLUGIN:
            self._completed(None)
        elif plugin_name != self._auth.plugin_name:
            self._fail(
                AuthenticationFailed(f"the bookie uses the plugin {plugin_name!r}, not {self._auth.plugin_name!r}")
            )
        else:
            self._bookie_sent_token = True
            self._ask(self._provider.process, token)

    def _ask(self, step: Callable[..., None], *arguments: Any) -> None:
        try:
            step(*arguments, self._answered)
        except Exception as error:
            self._completed(error)

    def _answered(self, error: Exception | None, token: bytes) -> None:
        if error is not None:
            self._completed(error)
        elif self.state is State.AUTHENTICATING:
            self._send_token(token)

    def _send_token(self, token: bytes) -> None:
        assert self._auth is not None
        if self._v2:
            header = framing.join_header(framing.VERSION_MAX, Operation.AUTH)
            self._driver.send_handshake(v2_auth_frame.encode(header, self._auth.plugin_name, token))
        else:
            message = v3_pb2.AuthMessage(auth_plugin_name=self._auth.plugin_name, payload=token)
            self._send_v3(V3Operation.AUTH, auth_request=message)

    def _completed(self, error: Exception | None) -> None:
        if self.state is not State.AUTHENTICATING:
            return
        if error is None:
            self.state = State.COMPLETE
            self._driver.handshake_complete(self._rest)
        elif isinstance(error, AuthenticationFailed):
            self._fail(error)
        else:
            self._fail(AuthenticationFailed(f"authentication failed: {error}"))

    def _fail(self, error: BookKeeperError) -> None:
        if self.state is not State.FAILED:
            self.state = State.FAILED
            self._driver.handshake_failed(error)

    def _send_v3(self, operation: Any, **part: Any) -> None:
        self._txn_id += 1
        header = v3_pb2.PacketHeader(version=v3.VERSION, operation=operation, txn_id=self._txn_id)
        body = v3_pb2.Request(header=header, **part).SerializeToString()
        self._driver.send_handshake(_pack_length(len(body)) + body)


def tells_unauthenticated(data: bytes) -> bool:
    """Tell whether the first bytes inside TLS say that the bookie wants authentication from a client without a plugin.

    A Java bookie says so by a second START_TLS reply, in V3 and with EIO, whatever protocol version follows.
    """
    if len(data) < _LENGTH:
        return False
    response = v3_pb2.Response()
    try:
        response.ParseFromString(data[_LENGTH : _LENGTH + _unpack_length(data, 0)[0]])
    except DecodeError:
        return False
    if not response.IsInitialized():
        return False
    operation, status = V3Operation(response.header.operation), statuses.BY_V3_CODE[response.status]
    return operation is V3Operation.START_TLS and status is statuses.EIO

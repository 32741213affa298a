"""A bookie's side of a connection: bytes in, requests out; no IO, no clock (docs/protocol/detection.md)."""

from collections.abc import Callable
from typing import Any

from bookkeeper_tx.errors import ProtocolViolation
from bookkeeper_tx.protocol.bookie import v2, v2_handshake, v2_mixed, v3, v3_handshake, v3_mixed
from bookkeeper_tx.protocol.bookie.auth import AuthRequest, ServerGate
from bookkeeper_tx.protocol.bookie.requests import Answered, ConnectionBroken, ConnectionEvent, Request, StartTls
from bookkeeper_tx.protocol.frame_buffer import FRAME_START, FrameBuffer
from bookkeeper_tx.security.authentication import BookieAuthProviderFactory, ConnectionPeer
from protocol_specs import codecs, fields
from protocol_specs.codecs import Malformed
from protocol_specs.wire import framing
from protocol_specs.wire import status as statuses
from protocol_specs.wire.operations import Operation, V3Operation

_unpack_length = codecs.RECORD_LENGTH.unpack_fixed
LENGTH = fields.FRAME_LENGTH_SIZE

UNAUTHENTICATED_SIZE_MAX = 64 * 1024
"""Longest frame in bytes of a client that has not authenticated: an unknown client must not make a bookie hold more.
Kerberos tokens are the longest, with 12 KiB or so."""


class ServerConnection:
    """Reads requests of both protocol versions.

    Every frame is first tried as V3, until one is not; from then on the connection is V2 for good, as in Java's
    ``BookieProtoEncoding``.
    """

    def __init__(self, frame_size_max: int = fields.FRAME_SIZE_MAX, serves_batch_read: bool = True) -> None:
        self._frames = FrameBuffer(frame_size_max)
        self._serves_batch_read = serves_batch_read
        self._may_be_v3 = True
        self._broken = False
        self._offers_tls = False
        self._awaits_tls = False
        self._token_in_clear = False
        """Whether a token has come in clear after START_TLS."""
        self._gate: ServerGate | None = None
        """Set until the client has authenticated; None on a bookie without authentication."""
        self._requests: list[Request] | None = None
        """The requests read so far by a running :meth:`receive`."""

    # Security --------------------------------------------------------------------------------------------------------

    def offer_tls(self) -> None:
        """Give StartTls for a request for TLS, instead of refusing it.

        Nothing after that request is read before :meth:`secured`.
        """
        self._offers_tls = True

    def require_authentication(
        self, factory: BookieAuthProviderFactory, peer: ConnectionPeer, emit: Callable[[ConnectionEvent], None]
    ) -> ServerGate:
        """Let nothing else through until the client has authenticated.

        ``emit`` is called with each event of a provider that does not answer at once.  The caller closes the gate when
        the connection is lost.
        """

        def in_order(event: ConnectionEvent) -> None:
            if self._requests is None:
                emit(event)
            else:
                self._requests.append(event)

        self._broken = True  # stays so if the plugin raises: then nobody gets in
        self._gate = ServerGate(factory, peer, in_order)
        self._broken = False
        return self._gate

    def secured(self) -> None:
        """Read on, inside TLS."""
        self._awaits_tls = False

    @property
    def frame(self) -> tuple[int, int, int]:
        """The number of the frame that is not complete yet, its size, 0 if there is none, and how much has come."""
        return self._frames.frame_number, self._frames.frame_size, self._frames.held

    # Requests --------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> list[Request]:
        """Return the requests that ``data`` completes.

        Bytes that break the protocol give a last :class:`ConnectionBroken`, after the requests that came before them;
        nothing more is read.
        """
        requests: list[Request] = []
        if self._broken:
            return requests
        self._requests = requests
        try:
            if self._awaits_tls:
                raise _in_clear()
            buffer = self._frames.feed(data)
            self._frames.keep(buffer, self._read(buffer, requests))
        except (Malformed, ProtocolViolation) as error:
            self._broken = True
            requests.append(ConnectionBroken(error))
        finally:
            self._requests = None
        return requests

    def _read(self, buffer: bytes, requests: list[Request]) -> int:
        position, end = 0, len(buffer)
        run: v3.Run | v3_mixed.Mixed | None = None
        while end - position >= LENGTH:
            length = self._frames.check(_unpack_length(buffer, position)[0])
            frame_end = position + LENGTH + length
            if self._gate is not None:
                if self._gate.opened and not self._awaits_tls:
                    self._gate = None
                    continue
                if length > UNAUTHENTICATED_SIZE_MAX:
                    raise ProtocolViolation(f"a frame of {length} bytes from a client that has not authenticated")
            if frame_end > end:
                break
            if self._gate is not None:
                self._read_unauthenticated(self._gate, buffer, position, frame_end, requests)
                position = frame_end
                continue
            if self._may_be_v3:
                frame = buffer[position + LENGTH : frame_end]
                message = v3.parse(frame)
                if message is not None:
                    position = frame_end
                    if v3.CONTEXT_TAG in frame:
                        run = None
                    if run is None or not run.take(message):
                        run = self._add_v3(run, message, end - frame_end, requests)
                    if run is not None:
                        position = run.take_following(buffer, position)
                    continue
                self._may_be_v3 = False
            request, position = self._read_v2(buffer, position, end, frame_end)
            requests.append(request)
        if self._awaits_tls and position < end:
            raise _in_clear()
        return position

    def _add_v3(
        self, run: v3.Run | v3_mixed.Mixed | None, message: Any, bytes_after: int, requests: list[Request]
    ) -> v3.Run | v3_mixed.Mixed | None:
        """Add the request in ``message``, which ``run`` has not taken; return the one that may take the next."""
        mixed = v3_mixed.mixed_of(run, message)
        if mixed is not None:
            requests[-1] = mixed
            return mixed
        request = self._read_v3(message, bytes_after)
        requests.append(request)
        return v3.run_of(request)

    def _read_v3(self, message: Any, bytes_after: int) -> Request:
        if message.header.operation == V3Operation.BATCH_READ_ENTRY and not self._serves_batch_read:
            raise ProtocolViolation("a request of an operation that this bookie pretends not to know")
        request = v3.request_of(message)
        return self._start_tls(request, bytes_after) if type(request) is StartTls else request

    def _start_tls(self, request: StartTls, bytes_after: int) -> Request:
        if not self._offers_tls:
            return Answered(request.refused)
        if bytes_after and self._gate is None:
            raise _in_clear()
        self._offers_tls = False
        self._awaits_tls = True
        return request

    def _read_unauthenticated(
        self, gate: ServerGate, buffer: bytes, start: int, frame_end: int, requests: list[Request]
    ) -> None:
        """Read one request before authentication.

        Java's client (``AuthHandler``) sends its first token in clear right after START_TLS, and the reply to it is
        sent inside TLS.  Nothing else of an exchange may be partly in clear and partly inside TLS: an attacker in the
        middle could log in, pass on a client's TLS, and so give that client the attacker's login.
        """
        request: AuthRequest | StartTls | Answered
        message = v3.parse(buffer[start + LENGTH : frame_end]) if self._may_be_v3 else None
        if message is not None:
            request = v3_handshake.read_unauthenticated(message)
        else:
            self._may_be_v3 = False
            request = v2_handshake.read_unauthenticated(buffer, start, frame_end)
        if self._awaits_tls and (self._token_in_clear or isinstance(request, StartTls | Answered)):
            raise _in_clear()
        if isinstance(request, StartTls):
            requests.append(self._start_tls(request, len(buffer) - frame_end))
        elif isinstance(request, Answered):
            requests.append(request)
        else:
            self._token_in_clear = self._awaits_tls
            self._offers_tls = False
            gate.process(request)

    def _read_v2(self, buffer: bytes, start: int, end: int, frame_end: int) -> tuple[Request, int]:
        """Return the request, or run of requests, at ``start``, and where the next one starts."""
        if frame_end - start < FRAME_START.size:
            raise Malformed(FRAME_START.name, "header", start, "the frame is shorter than its header")
        version, operation, _ = framing.split_header(FRAME_START.unpack_fixed(buffer, start)[1])
        if operation == Operation.AUTH:
            return v2_handshake.answer_auth(buffer, start, frame_end), frame_end
        if (operation == Operation.BATCH_READ_ENTRY and not self._serves_batch_read) or operation not in _READABLE:
            raise ProtocolViolation(f"unknown operation {operation} of a version {version} request")
        if version > framing.VERSION_MAX:
            return v2.refuse(buffer, start, frame_end, operation, statuses.EBADVERSION), frame_end
        if operation == Operation.ADD_ENTRY:
            return v2_mixed.read_adds(buffer, start, end)
        if operation == Operation.READ_ENTRY:
            return v2_mixed.read_reads(buffer, start, end, frame_end)
        return v2.read_batch_read(buffer, start, frame_end), frame_end


def _in_clear() -> ProtocolViolation:
    # Reading them would take them for bytes that came inside TLS.
    return ProtocolViolation("the client sent bytes in clear after its START_TLS")


_READABLE = frozenset(Operation) - {Operation.AUTH}

"""Defects of a bookie: frames, protocol versions, connections, TLS and authentication."""

from typing import Any

from bookkeeper_tx.errors import ProtocolViolation
from bookkeeper_tx.protocol import v2_frames
from bookkeeper_tx.protocol.bookie import v2, v3
from bookkeeper_tx.protocol.bookie import v3_handshake as handshake
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import Answered, ConnectionBroken
from bookkeeper_tx.protocol.frame_buffer import FrameBuffer
from bookkeeper_tx.security.digest_md5 import DigestServer
from bookkeeper_tx.transport.bookie_protocol import BookieProtocol
from protocol_specs.wire import framing, status
from protocol_specs.wire.operations import V3Operation
from tests.mutants.mutant import BOOKIE, Defects, instead_of

DEFECTS = Defects(BOOKIE)
defect = DEFECTS.defect


@defect("FRAME", "DETECT")
def v2_is_not_for_good() -> None:
    """A connection that has spoken V2 is answered in V3 again."""
    ServerConnection._may_be_v3 = property(lambda self: True, lambda self, value: None)  # type: ignore[assignment]


@defect("DETECT", "FRAME")
def v2_after_v3_is_refused() -> None:
    """A connection that has spoken V3 is closed by a V2 request."""

    @instead_of(ServerConnection, "_read_v3")
    def read_v3(original: Any, self: Any, message: Any, behind: int) -> Any:
        self._has_spoken_v3 = True
        return original(self, message, behind)

    @instead_of(ServerConnection, "_read_v2")
    def read_v2(original: Any, self: Any, *arguments: Any) -> Any:
        if getattr(self, "_has_spoken_v3", False):
            raise ProtocolViolation("V2 after V3")
        return original(self, *arguments)


@defect("DETECT", "STATE")
def every_v2_version_is_served() -> None:
    """V2 requests of version 3 and above are served instead of refused."""
    framing.VERSION_MAX = 127


@defect("DETECT", "STATE")
def every_v3_version_is_served() -> None:
    """V3 requests of version 1 and 2 are served instead of refused."""

    @instead_of(v3, "parse")
    def parse(original: Any, frame: bytes) -> Any:
        message = original(frame)
        if message is not None:
            message.header.version = 3
        return message


@defect("STATE", "DETECT")
def a_bad_version_is_a_bad_request() -> None:
    """A V2 version that is not spoken is answered EBADREQ."""

    @instead_of(v2, "refuse")
    def refuse(original: Any, buffer: bytes, start: int, end: int, operation: int, why: Any) -> Any:
        return original(buffer, start, end, operation, status.EBADREQ if why is status.EBADVERSION else why)


@defect("DETECT", "CORPUS", "FRAME")
def unknown_v2_operations_are_passed_over() -> None:
    """A V2 request of an unknown operation gets no answer, and the connection stays."""

    @instead_of(ServerConnection, "_read_v2")
    def read_v2(original: Any, self: Any, buffer: bytes, start: int, end: int, frame_end: int) -> Any:
        try:
            return original(self, buffer, start, end, frame_end)
        except ProtocolViolation:
            return Answered(b""), frame_end


@defect("DETECT", "STATE")
def reserved_v3_operations_close_the_connection() -> None:
    """Operations 3 and 4 of V3 end the connection, where they are answered EBADREQ."""

    @instead_of(v3, "request_of")
    def request_of(original: Any, message: Any) -> Any:
        if message.header.operation in (V3Operation.RANGE_READ_ENTRY, V3Operation.RANGE_ADD_ENTRY):
            raise ProtocolViolation("a reserved operation")
        return original(message)


@defect("ISOL", "FRAME")
def one_bad_connection_ends_the_others() -> None:
    """A client that breaks the protocol takes all connections with it."""

    @instead_of(BookieProtocol, "_break")
    def break_(original: Any, self: Any, error: Exception) -> None:
        for other in list(self.factory._protocols):
            original(other, error)


@defect("FRAME", "ISOL")
def requests_before_a_bad_frame_are_dropped() -> None:
    """Good requests that came in one segment with a bad frame behind them are not answered."""

    @instead_of(ServerConnection, "receive")
    def receive(original: Any, self: Any, data: bytes) -> Any:
        requests = original(self, data)
        return requests[-1:] if requests and isinstance(requests[-1], ConnectionBroken) else requests


@defect("FRAME")
def the_frame_limit_is_ignored() -> None:
    """A length over the limit is waited for."""
    FrameBuffer.check = lambda self, length: length & 0xFFFFFFFF  # type: ignore[method-assign]


@defect("FRAME")
def the_frame_limit_counts_the_length_word_twice() -> None:
    """A frame of exactly the limit is refused."""

    @instead_of(FrameBuffer, "check")
    def check(original: Any, self: Any, length: int) -> int:
        if length >= self.frame_size_max - 4:
            raise ProtocolViolation("a frame of the limit")
        checked: int = original(self, length)
        return checked


@defect("FRAME")
def a_length_word_that_is_split_is_lost() -> None:
    """The first bytes of a frame are dropped if its length is not whole yet."""

    @instead_of(FrameBuffer, "keep")
    def keep(original: Any, self: Any, buffer: bytes, position: int) -> None:
        if len(buffer) - position >= 4:
            original(self, buffer, position)


@defect("FRAME", "FLOW")
def one_request_of_a_segment_is_answered() -> None:
    """Of several requests that come in one segment the first one is answered."""

    @instead_of(ServerConnection, "receive")
    def receive(original: Any, self: Any, data: bytes) -> Any:
        return original(self, data)[:1]


@defect("FRAME")
def an_idle_connection_is_closed() -> None:
    """A client that says nothing for a second and a half is dropped."""
    from twisted.internet import reactor

    @instead_of(BookieProtocol, "connectionMade")
    def connection_made(original: Any, self: Any) -> None:
        original(self)
        self._idle = reactor.callLater(1.0, self.transport.loseConnection)  # type: ignore[attr-defined]

    @instead_of(BookieProtocol, "dataReceived")
    def data_received(original: Any, self: Any, data: bytes) -> None:
        if self._idle.active():
            self._idle.reset(1.0)
        original(self, data)


@defect("FRAME", "READ", "STATE")
def a_read_reply_is_a_byte_short() -> None:
    """The length of a V2 read reply with an entry says one byte more than comes."""

    @instead_of(v2.ReadRequests, "replies")
    def replies(original: Any, self: Any, answers: Any, last_add_confirmed: int) -> list[Any]:
        whole = b"".join(map(bytes, original(self, answers, last_add_confirmed)))
        return [whole[:-1]] if len(whole) > v2_frames.READ_REPLY.size else [whole]


@defect("ADD", "STATE")
def a_short_add_closes_a_v3_connection() -> None:
    """A V3 add whose entry is too short to have ids ends the connection."""
    from bookkeeper_tx.protocol.bookie import v3_add_entry

    @instead_of(v3_add_entry, "read")
    def read(original: Any, message: Any) -> Any:
        if len(message.add_request.body) < 16:
            raise ProtocolViolation("too short an entry")
        return original(message)

    v3._READERS[V3Operation.ADD_ENTRY] = v3_add_entry.read


@defect("AUTH", "STATE")
def the_gate_stands_open() -> None:
    """A bookie that asks for authentication serves clients that have not authenticated."""

    @instead_of(ServerConnection, "require_authentication")
    def require(original: Any, self: Any, *arguments: Any) -> Any:
        gate = original(self, *arguments)
        self._gate = None
        gate.opened = True
        return gate


@defect("AUTH")
def any_password_will_do() -> None:
    """A token with the wrong proof is accepted."""

    @instead_of(DigestServer, "check")
    def check(original: Any, self: Any, response: bytes) -> bytes:
        try:
            proof: bytes = original(self, response)
        except Exception:
            self.username = "bookkeeper"
            return b"rspauth=0"
        return proof


@defect("AUTH", "STATE")
def unauthenticated_requests_close_the_connection() -> None:
    """A request before authentication is not answered EUA: the connection is closed."""

    @instead_of(handshake, "read_unauthenticated")
    def read(original: Any, message: Any) -> Any:
        found = original(message)
        if isinstance(found, Answered):
            raise ProtocolViolation("not authenticated")
        return found

    from bookkeeper_tx.protocol.bookie import v2_handshake

    @instead_of(v2_handshake, "read_unauthenticated")
    def read_v2(original: Any, *arguments: Any) -> Any:
        found = original(*arguments)
        if isinstance(found, Answered):
            raise ProtocolViolation("not authenticated")
        return found


@defect("AUTH", "STATE")
def a_v2_batch_read_before_authentication_is_answered() -> None:
    """A V2 batch read before authentication is answered EUA, where the connection is to be closed."""
    from bookkeeper_tx.protocol.bookie import v2_handshake

    v2_handshake._REFUSED = v2_handshake._REFUSED | {7}


@defect("TLS", "STATE")
def start_tls_is_accepted_without_tls() -> None:
    """A bookie without TLS answers START_TLS with EOK."""

    @instead_of(ServerConnection, "_start_tls")
    def start_tls(original: Any, self: Any, request: Any, behind: int) -> Any:
        return original(self, request, behind) if self._offers_tls else Answered(request.accepted)


@defect("TLS", "AUTH", "STATE")
def start_tls_is_refused_where_there_is_tls() -> None:
    """A bookie with TLS answers START_TLS with EBADREQ."""
    ServerConnection.offer_tls = lambda self: None  # type: ignore[method-assign]


@defect("TLS")
def start_tls_is_answered_as_version_of_the_request() -> None:
    """The accepting reply to START_TLS lacks its part."""

    @instead_of(handshake, "read_start_tls")
    def read_start_tls(original: Any, message: Any) -> Any:
        from attrs import evolve

        found = original(message)
        return evolve(found, accepted=found.refused[:-2] + b"\x10\x00")

    v3._READERS[V3Operation.START_TLS] = handshake.read_start_tls

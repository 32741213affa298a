"""Defects of a bookie that only strangers, liars and odd clients meet: tokens, certificates, unknown fields."""

from typing import Any

from bookkeeper_tx.protocol import v2_auth_frame
from bookkeeper_tx.protocol.bookie import v2_handshake, v3, v3_handshake
from bookkeeper_tx.protocol.bookie.connection import ServerConnection
from bookkeeper_tx.protocol.bookie.requests import Answered
from bookkeeper_tx.security.digest_md5 import DigestServer
from bookkeeper_tx.transport.bookie_protocol import BookieProtocol
from protocol_specs.wire import framing
from protocol_specs.wire.operations import Operation, V3Operation
from tests.mutants.mutant import BOOKIE, Defects, instead_of

DEFECTS = Defects(BOOKIE)
defect = DEFECTS.defect


@defect("BKW-TLS-013", "TLS")
def what_is_in_clear_behind_start_tls_is_served() -> None:
    """Requests in clear behind START_TLS are carried out as if they had come inside TLS."""

    @instead_of(ServerConnection, "_start_tls")
    def start_tls(original: Any, self: Any, request: Any, behind: int) -> Any:
        found = original(self, request, 0)
        self._awaits_tls = False
        return found


@defect("BKW-TLS-006", "TLS")
def no_certificate_is_asked_for() -> None:
    """Clients without a certificate are served inside TLS, where one is wanted."""
    from OpenSSL import SSL

    from bookkeeper_tx.transport import tls

    @instead_of(tls, "_context")
    def context(original: Any, config: Any, server: bool) -> Any:
        made = original(config, server)
        made.set_verify(SSL.VERIFY_NONE, lambda *_: True)
        return made


@defect("BKW-AUTH-016", "AUTH")
def every_challenge_has_the_same_nonce() -> None:
    """The nonce is a constant, so that a response can be used again."""

    @instead_of(DigestServer, "__init__")
    def init(original: Any, self: Any, users: Any, service: str, host: str, realm: str, _: Any) -> None:
        original(self, users, service, host, realm, lambda size: bytes(size))


@defect("BKW-AUTH-018", "AUTH")
def an_auth_that_is_not_needed_is_answered_in_its_own_version() -> None:
    """The reply to a V2 AUTH that nobody asked for has the request's version instead of 2."""

    @instead_of(v2_handshake, "answer_auth")
    def answer(original: Any, buffer: bytes, start: int, frame_end: int) -> Any:
        reply = bytes(original(buffer, start, frame_end).reply)
        header, _ = v2_auth_frame.decode(buffer, start, frame_end)
        return Answered(reply[:4] + framing.reply_header(header).to_bytes(4, "big") + reply[8:])


@defect("BKW-AUTH-001", "AUTH")
def refusals_before_authentication_have_a_header_of_their_own() -> None:
    """EUA before authentication comes under a header without the request's version and priority."""

    @instead_of(v3_handshake, "read_unauthenticated")
    def read(original: Any, message: Any) -> Any:
        message.header.version = 3
        message.header.ClearField("priority")
        return original(message)


@defect("BKW-DETECT-010", "DETECT")
def requests_without_a_part_close_the_connection() -> None:
    """A V3 read or add that lacks its part is taken for no V3."""

    @instead_of(v3, "parse")
    def parse(original: Any, frame: bytes) -> Any:
        message = original(frame)
        parts = {V3Operation.READ_ENTRY: "read_request", V3Operation.ADD_ENTRY: "add_request"}
        part = parts.get(message.header.operation) if message is not None else None
        return None if part and not message.HasField(part) else message


@defect("BKW-DETECT-015", "DETECT")
def transaction_ids_are_of_32_bits() -> None:
    """The upper half of a transaction id is lost."""

    @instead_of(v3, "parse")
    def parse(original: Any, frame: bytes) -> Any:
        message = original(frame)
        if message is not None and message.header.txn_id >> 32:
            message.header.txn_id &= 0xFFFFFFFF
        return message


@defect("BKW-DETECT-011", "DETECT")
def unknown_fields_are_refused() -> None:
    """A V3 request with a field that the bookie does not know is taken for no V3."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    @instead_of(v3, "parse")
    def parse(original: Any, frame: bytes) -> Any:
        message = original(frame)
        return None if message is not None and len(UnknownFieldSet(message)) else message


@defect("BKW-DETECT-019", "DETECT")
def version_0_has_an_operation_where_the_others_have_it() -> None:
    """The operation of a V2 request of version 0 is looked for in the second byte, as from version 1 on."""

    @instead_of(framing, "split_header")
    def split(original: Any, header: int) -> tuple[int, int, int]:
        if header >> 24 == 0 and header >> 16 & 0xFF in tuple(Operation):
            return 0, header >> 16 & 0xFF, 0
        found: tuple[int, int, int] = original(header)
        return found if header >> 24 or header < 1 << 8 else (0, 0, 0)


@defect("BKW-FRAME-013", "FRAME")
def half_a_frame_is_filled_up() -> None:
    """What is missing of a frame when its client ends is taken for zeroes."""

    @instead_of(BookieProtocol, "connectionLost")
    def connection_lost(original: Any, self: Any, *reason: Any) -> None:
        self.connected_to_client = True
        self.dataReceived(bytes(10))
        original(self, *reason)

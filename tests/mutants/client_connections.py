"""Defects of a client: TLS, authentication, and what a connection brings."""

from typing import Any

from bookkeeper_tx.protocol.client.handshake import ClientHandshake, State
from bookkeeper_tx.protocol.client.v2 import V2ClientConnection
from bookkeeper_tx.protocol.client.v3 import V3ClientConnection
from bookkeeper_tx.protocol.frame_buffer import FrameBuffer
from bookkeeper_tx.security.digest_md5 import DigestClient
from bookkeeper_tx.transport.client_link import ClientLink
from protocol_specs import codecs
from protocol_specs.wire.status import EOK
from tests.mutants.mutant import CLIENT, Defects, instead_of

DEFECTS = Defects(CLIENT)
defect = DEFECTS.defect

_LENGTH = codecs.RECORD_LENGTH


@defect("BKW-CCONN-024")
def a_refused_start_tls_is_passed_over() -> None:
    """When a bookie refuses TLS the client goes on in clear."""

    @instead_of(ClientHandshake, "_take_start_tls")
    def take(original: Any, self: Any, operation: Any, status: Any) -> None:
        if status is EOK:
            original(self, operation, status)
        else:
            self._authenticate()


@defect("BKW-CCONN-028")
def the_handshake_of_tls_is_left_out() -> None:
    """The client asks for TLS, and goes on in clear when the bookie agrees."""

    @instead_of(ClientLink, "start_tls")
    def start_tls(original: Any, self: Any) -> None:
        self._handshake.secured(None)


@defect("BKW-CCONN-030")
def the_certificate_of_a_bookie_is_not_verified() -> None:
    """Any certificate of a bookie will do."""
    from bookkeeper_tx.transport import tls

    @instead_of(tls, "_verified")
    def verified(original: Any, *arguments: Any) -> bool:
        return True


@defect("BKW-CCONN-031")
def the_client_shows_no_certificate() -> None:
    """The client keeps its certificate to itself."""
    from bookkeeper_tx.transport import tls

    @instead_of(tls, "_own")
    def own(original: Any, *arguments: Any) -> None:
        return


@defect("BKW-CCONN-032")
def only_the_newest_tls_is_spoken() -> None:
    """The client offers TLS 1.3 alone."""
    from bookkeeper_tx.transport import tls

    tls._VERSIONS = {"TLSv1.3": tls.SSL.TLS1_3_VERSION}


@defect("BKW-CCONN-033")
def one_frame_of_what_arrives_at_once_is_read() -> None:
    """The bytes after a whole frame in one delivery are lost."""

    @instead_of(ClientLink, "received")
    def received(original: Any, self: Any, data: bytes) -> None:
        if len(data) >= _LENGTH.size:
            data = data[: _LENGTH.size + _LENGTH.unpack_fixed(data)[0]]
        original(self, data)


@defect("BKW-CCONN-034")
def a_frame_that_is_not_whole_is_lost() -> None:
    """What has arrived of a frame is forgotten when its rest arrives."""

    @instead_of(FrameBuffer, "keep")
    def keep(original: Any, self: Any, buffer: bytes, position: int) -> None:
        return


@defect("BKW-CREAD-006")
def a_lost_connection_is_not_noticed() -> None:
    """Requests that wait on a connection go on waiting when it is lost."""
    for connection in (V2ClientConnection, V3ClientConnection):

        @instead_of(connection, "fail_all")
        def fail_all(original: Any, self: Any, error: Any) -> list[Any]:
            return []


@defect("BKW-CCONN-036")
def the_proof_is_of_another_password() -> None:
    """The response to a challenge proves a password that has one character more."""

    @instead_of(DigestClient, "respond")
    def respond(original: Any, self: Any, challenge: bytes) -> Any:
        self._password += "?"
        return original(self, challenge)


@defect("BKW-CCONN-026", "BKW-CCONN-036")
def requests_do_not_wait_for_authentication() -> None:
    """The client takes itself for authenticated as soon as it has sent a token."""

    @instead_of(ClientHandshake, "_send_token")
    def send_token(original: Any, self: Any, token: bytes) -> None:
        original(self, token)
        self._completed(None)


@defect("BKW-CCONN-037")
def the_proof_of_a_bookie_is_not_compared() -> None:
    """Any last token of a bookie will do."""

    @instead_of(DigestClient, "check")
    def check(original: Any, self: Any, proof: bytes) -> None:
        return


@defect("BKW-CCONN-038")
def a_challenge_can_be_taken_back() -> None:
    """A bookie that has sent a challenge may say that nothing is to authenticate."""

    @instead_of(ClientHandshake, "_take_token")
    def take(original: Any, self: Any, plugin_name: str, token: bytes) -> None:
        self._bookie_sent_token = False
        original(self, plugin_name, token)


@defect("BKW-CCONN-039")
def the_first_token_goes_in_clear() -> None:
    """The client sends its first token in front of TLS, as Java's does."""

    @instead_of(ClientHandshake, "start")
    def start(original: Any, self: Any) -> None:
        original(self)
        if self.state is State.ASKING_TLS and self._auth is not None:
            self._send_token(b"")


@defect("BKW-CCONN-040")
def what_came_in_clear_counts_inside_tls() -> None:
    """Bytes behind the answer to START_TLS are kept, and read when TLS is up."""
    kept: dict[int, bytes] = {}

    @instead_of(ClientHandshake, "_take_start_tls")
    def take(original: Any, self: Any, operation: Any, status: Any) -> None:
        kept[id(self._driver)], self._rest = self._rest, b""
        original(self, operation, status)

    @instead_of(ClientLink, "handshake_complete")
    def complete(original: Any, self: Any, rest: bytes) -> None:
        original(self, kept.pop(id(self), b"") + rest)

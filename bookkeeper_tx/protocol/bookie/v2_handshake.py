"""Authentication on a V2 connection (docs/protocol/authentication.md).  A V2 client, too, asks for TLS in V3."""

from attrs import frozen

from bookkeeper_tx.errors import ProtocolViolation
from bookkeeper_tx.protocol import v2_auth_frame
from bookkeeper_tx.protocol.bookie import v2
from bookkeeper_tx.protocol.bookie.requests import Answered
from bookkeeper_tx.protocol.frame_buffer import FRAME_START
from protocol_specs.codecs import Malformed
from protocol_specs.wire import framing
from protocol_specs.wire import status as statuses
from protocol_specs.wire.auth import AUTH_DISABLED_PLUGIN
from protocol_specs.wire.operations import Operation

_REFUSED = frozenset({Operation.ADD_ENTRY, Operation.READ_ENTRY})
"""The operations that are answered EUA before authentication; any other breaks the connection, as in Java's
``AuthHandler``."""


@frozen
class AuthRequest:
    """A token of a client that is not authenticated yet."""

    _header: int
    plugin_name: str
    token: bytes
    refused: None = None
    """V2 has no reply that refuses a token: the connection is closed."""

    def reply(self, plugin_name: str, token: bytes) -> bytes:
        """Encode the token that answers this one."""
        return v2_auth_frame.encode(framing.reply_header(self._header), plugin_name, token)


def answer_auth(buffer: bytes, start: int, frame_end: int) -> Answered:
    """Answer that there is nothing to authenticate: always in version 2, as Java's ``BookieRequestProcessor``."""
    v2_auth_frame.decode(buffer, start, frame_end)
    header = framing.join_header(framing.VERSION_MAX, Operation.AUTH)
    return Answered(v2_auth_frame.encode(header, AUTH_DISABLED_PLUGIN, b""))


def read_unauthenticated(buffer: bytes, start: int, frame_end: int) -> AuthRequest | Answered:
    """Return the token of a client that has not authenticated, or the answer EUA to its add or read.

    Raises Malformed, and ProtocolViolation for any other request.
    """
    if frame_end - start < FRAME_START.size:
        raise Malformed(FRAME_START.name, "header", start, "the frame is shorter than its header")
    operation = framing.split_header(FRAME_START.unpack_fixed(buffer, start)[1])[1]
    if operation == Operation.AUTH:
        header, message = v2_auth_frame.decode(buffer, start, frame_end)
        return AuthRequest(header, message.auth_plugin_name, message.payload)
    if operation in _REFUSED:
        return v2.refuse(buffer, start, frame_end, operation, statuses.EUA)
    raise ProtocolViolation(f"a V2 request of operation {operation} before authentication")

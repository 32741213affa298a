"""The requests before the operations on a V3 connection: authentication and TLS (docs/protocol/v3.md)."""

from typing import Any

from attrs import frozen

from bookkeeper_tx.protocol.bookie import v3_replies
from bookkeeper_tx.protocol.bookie.requests import Answered, Request, StartTls
from bookkeeper_tx.protocol.bookie.v3_replies import Decoded
from protocol_specs.wire import status as statuses
from protocol_specs.wire.auth import AUTH_DISABLED_PLUGIN
from protocol_specs.wire.operations import V3Operation


@frozen
class AuthRequest:
    """A token of a client that is not authenticated yet."""

    _header: Any
    plugin_name: str
    token: bytes
    refused: bytes
    """The reply when the token, or the plugin, is not accepted."""

    def reply(self, plugin_name: str, token: bytes) -> bytes:
        """Encode the token that answers this one."""
        response = v3_replies.response(self._header, statuses.EOK.v3)
        response.auth_response.auth_plugin_name = plugin_name
        response.auth_response.payload = token
        return v3_replies.frame(response)


def read_auth(message: Decoded) -> Request:
    """Answer that there is nothing to authenticate, whatever plugin and payload the client sent."""
    return Answered(AuthRequest(message.header, "", b"", b"").reply(AUTH_DISABLED_PLUGIN, b""))


def read_start_tls(message: Decoded) -> StartTls:
    """Return the request with its replies: only ``accepted`` has a part, only ``failed`` has the request's header."""
    header = v3_replies.header(V3Operation.START_TLS, message.header.txn_id)
    accepted = v3_replies.response(header, statuses.EOK.v3)
    accepted.start_tls_response.SetInParent()
    return StartTls(
        accepted=v3_replies.frame(accepted),
        refused=v3_replies.frame(v3_replies.response(header, statuses.EBADREQ.v3)),
        failed=v3_replies.header_copied(message, statuses.EIO),
    )


def read_unauthenticated(message: Decoded) -> AuthRequest | StartTls | Answered:
    """Return the AUTH or START_TLS of a client that has not authenticated; any other request is answered EUA.

    That reply has the request's header, as from Java's ``AuthHandler``.
    """
    refused = v3_replies.header_copied(message, statuses.EUA)
    operation = message.header.operation
    if operation == V3Operation.AUTH and message.HasField("auth_request"):
        request = message.auth_request
        return AuthRequest(message.header, request.auth_plugin_name, request.payload, refused)
    if operation == V3Operation.START_TLS and message.HasField("start_tls_request"):
        return read_start_tls(message)
    return Answered(refused)

"""What comes before the operations on a V3 connection: authentication and TLS (docs/protocol/v3.md)."""

from bookkeeper_tx.protocol import v3_replies
from bookkeeper_tx.protocol.messages import Answered, Request
from bookkeeper_tx.protocol.v3_replies import Decoded
from protocol_specs.wire import status as statuses
from protocol_specs.wire.auth import AUTH_DISABLED_PLUGIN
from protocol_specs.wire.operations import V3Operation


def read_auth(message: Decoded) -> Request:
    """Answer that there is nothing to authenticate, whatever plugin and payload the client sent."""
    response = v3_replies.response(message.header, statuses.EOK.v3)
    response.auth_response.auth_plugin_name = AUTH_DISABLED_PLUGIN
    response.auth_response.payload = b""
    return Answered(v3_replies.frame(response))


def read_start_tls(message: Decoded) -> Request:
    """Answer that this bookie has no TLS: under a header of its own, but without a part."""
    header = v3_replies.header(V3Operation.START_TLS, message.header.txn_id)
    return Answered(v3_replies.frame(v3_replies.response(header, statuses.EBADREQ.v3)))

"""The frame of an authentication token in V2, of either direction (docs/protocol/authentication.md)."""

from google.protobuf.message import DecodeError

from bookkeeper_tx.protocol.v2_frames import LENGTH
from protocol_specs import codecs
from protocol_specs.codecs import Malformed
from protocol_specs.wire import v2
from protocol_specs.wire.v3_pb2 import AuthMessage

AUTH = codecs.derive("authentication", v2.AUTH_FRAME)


def encode(header: int, plugin_name: str, token: bytes) -> bytes:
    """Encode a frame of either direction."""
    message = AuthMessage(auth_plugin_name=plugin_name, payload=token).SerializeToString()
    return AUTH.pack(AUTH.size - LENGTH + len(message), header, message)


def decode(buffer: bytes, start: int, frame_end: int) -> tuple[int, AuthMessage]:
    """Return header and message of a frame of either direction.  Raises Malformed."""
    _, header, body = AUTH.unpack_from(buffer, start, frame_end)
    try:
        message = AuthMessage.FromString(body)
    except DecodeError as error:
        raise Malformed(AUTH.name, AUTH.tail_name, start + AUTH.size, str(error)) from None
    if not message.IsInitialized():
        raise Malformed(AUTH.name, AUTH.tail_name, start + AUTH.size, "plugin name or payload is missing")
    return header, message

"""Guesses the direction of bytes from the first frame that can only be a request, or only a response."""

from google.protobuf.message import DecodeError

from protocol_specs import codecs
from protocol_specs.codecs import Malformed
from protocol_specs.entry import version
from protocol_specs.fields import record_length
from protocol_specs.readable import v3
from protocol_specs.readable.shown import Direction
from protocol_specs.wire import framing, status, v2, v3_pb2
from protocol_specs.wire.auth import AUTH_DISABLED_PLUGIN
from protocol_specs.wire.operations import Operation

_FRAME = codecs.derive("frame", framing.FRAME)
_ADD_REPLY = codecs.derive("V2 add reply", v2.ADD_REPLY)
_READ_REPLY = codecs.derive("V2 read reply", v2.READ_REPLY)
_BATCH_READ_REPLY = codecs.derive("V2 batch read reply", v2.BATCH_READ_REPLY)
_AUTH = codecs.derive("V2 auth", v2.AUTH)
_READ_REQUEST = codecs.derive("V2 read request", v2.READ_REQUEST)
_BATCH_READ_REQUEST = codecs.derive("V2 batch read request", v2.BATCH_READ_REQUEST)


def guess(data: bytes) -> Direction | None:
    """Return the direction of the frames in ``data``, None if no frame decides it."""
    at = 0
    while at < len(data):
        try:
            length, body = _FRAME.unpack_from(data, at)
        except Malformed:
            body = data[at + _FRAME.size :]
            return _of_frame(body)
        direction = _of_frame(body)
        if direction is not None:
            return direction
        at += _FRAME.size + length
    return None


def _of_frame(body: bytes) -> Direction | None:
    if v3.is_v3("response", body):  # a request has no status, which a response must have
        return "response"
    if v3.is_v3("request", body):
        return "request"
    try:
        return _of_v2(body)
    except Malformed:
        return None


def _of_v2(body: bytes) -> Direction | None:
    header = _AUTH.unpack_from(body)[0]
    _, operation, flags = framing.split_header(header)
    if operation == Operation.AUTH:
        return _of_auth(body)
    if operation == Operation.ADD_ENTRY:
        return "response" if len(body) == _ADD_REPLY.size else "request"
    if operation == Operation.READ_ENTRY:
        return "response" if not flags and _is_read_reply(body) else _request(body, flags, _READ_REQUEST.size)
    if operation == Operation.BATCH_READ_ENTRY:
        return (
            "response" if not flags and _is_batch_read_reply(body) else _request(body, flags, _BATCH_READ_REQUEST.size)
        )
    return None


def _request(body: bytes, flags: int, size: int) -> Direction | None:
    """Recognize a request by marks that no reply has: flags, or its exact size; others may be damaged replies."""
    return "request" if flags or len(body) == size else None


def _is_read_reply(body: bytes) -> bool:
    if len(body) < _READ_REPLY.size:
        return False
    _, code, ledger_id, _, entry = _READ_REPLY.unpack_from(body)
    if code != status.EOK.v2:
        return code in status.BY_V2_CODE and not entry
    return _is_entry_of(ledger_id, entry)


def _is_batch_read_reply(body: bytes) -> bool:
    """Recognize a reply by its first entry; later ones may be damaged."""
    if len(body) < _BATCH_READ_REPLY.size:
        return False
    _, code, ledger_id, *_ = _READ_REPLY.unpack_from(body)  # both begin alike
    records = body[_BATCH_READ_REPLY.size :]
    if code != status.EOK.v2:
        return code in status.BY_V2_CODE and not records
    return _is_entry_of(ledger_id, records[record_length.sizeof() :])


def _is_entry_of(ledger_id: int, entry: bytes) -> bool:
    try:
        return version.ids_of(entry)[0] == ledger_id
    except Malformed:
        return False


def _of_auth(body: bytes) -> Direction | None:
    """Recognize the only reply that differs from a request: that of a bookie without authentication."""
    message = v3_pb2.AuthMessage()
    try:
        message.ParseFromString(_AUTH.unpack_from(body)[1])
    except DecodeError:
        return None
    return "response" if message.auth_plugin_name == AUTH_DISABLED_PLUGIN else None

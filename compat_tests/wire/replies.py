"""Replies of both protocol versions: parsing them, and matching them with requests."""

from collections.abc import Sequence
from typing import Any

from attrs import frozen
from construct import ConstructError
from google.protobuf.message import DecodeError

from compat_tests.judge.case import Dialect
from protocol_specs import codecs
from protocol_specs.codecs import Malformed
from protocol_specs.wire import framing, v2, v3_pb2
from protocol_specs.wire.operations import PARTS, Operation, V3Operation
from protocol_specs.wire.status import BY_V2_CODE, BY_V3_CODE, EBADVERSION, Status
from protocol_specs.wire.tails import Records

_HEADER = codecs.derive("packet header", codecs.leading(v2.READ_REPLY, "status"))
_REPLY = codecs.derive("reply", codecs.leading(v2.READ_REPLY, "entry"))
_BATCH_REPLY = codecs.derive("batch read reply", codecs.leading(v2.BATCH_READ_REPLY, "entries"))
_READ = codecs.derive("read request", codecs.leading(v2.READ_REQUEST, "master_key"))
_ADD = codecs.derive("add request", codecs.leading(v2.ADD_REQUEST, "rest_of_entry"))
_BATCH = codecs.derive("batch read request", codecs.leading(v2.BATCH_READ_REQUEST, "master_key"))

_V2_OPERATIONS = {int(operation) for operation in Operation}


@frozen
class Reply:
    """One reply."""

    dialect: Dialect
    raw: bytes
    """The frame without its length."""
    operation: int
    version: int
    status: Status | None
    """None for a V2 AUTH, which has none."""
    ledger_id: int | None = None
    entry_id: int | None = None
    """The first one, of a batch read."""
    request_id: int | None = None
    """The transaction id of V3; of V2, batch reads only."""
    flags: int = 0
    body: bytes = b""
    """The entry that a read brought."""
    entries: Sequence[bytes] = ()
    """Those that a batch read brought."""
    part: Any = None
    """The part of a V3 response, if it has one."""
    message: Any = None
    """The whole V3 response, or the AuthMessage of a V2 one."""

    def __str__(self) -> str:
        """The reply in a few words."""
        words = [str(self.dialect), name_of(self.dialect, self.operation)]
        words.append(self.status.name if self.status else "without status")
        for name in ("ledger_id", "entry_id", "request_id"):
            value = getattr(self, name)
            if value is not None:
                words.append(f"{name}={value}")
        if self.body:
            words.append(f"body={len(self.body)} bytes")
        if self.entries:
            words.append(f"entries={len(self.entries)}")
        return " ".join(words)


@frozen
class ConnectionClosed:
    """The target closed the connection."""

    how: str = "closed"
    """``closed`` in order, or ``reset``."""

    def __str__(self) -> str:
        return f"the connection {'was reset' if self.how == 'reset' else 'was closed'}"


@frozen
class Silence:
    """Nothing came."""

    for_s: float

    def __str__(self) -> str:
        return f"nothing for {self.for_s:.1f} s"


class Unreadable(ValueError):
    """A frame that is no reply."""


def name_of(dialect: Dialect, operation: int) -> str:
    """The name of an operation, or its number."""
    kind = Operation if dialect is Dialect.V2 else V3Operation
    try:
        return kind(operation).name
    except ValueError:
        return f"operation {operation}"


def parse(frame: bytes) -> Reply:
    """Parse a frame.  Raises Unreadable if it is a reply of neither protocol version."""
    try:
        return _v3(frame) if _is_v3(frame) and not _refuses_version(frame) else _v2(frame)
    except (Malformed, ConstructError, DecodeError, KeyError, ValueError) as error:
        raise Unreadable(f"{len(frame)} bytes that are no reply ({error}): {frame[:64].hex()}") from error


def answers(request: bytes, reply: Reply) -> bool:
    """Whether a reply is the one to a request: the same operation, ids and number; and, of V2, version."""
    return mismatch_of(request, reply) is None


def mismatch_of(request: bytes, reply: Reply) -> tuple[str, str, str] | None:
    """The first field in which a reply differs from its request: name, expected, seen; None if it answers it."""
    txn_id = txn_id_of(request)
    if txn_id is not None and reply.dialect is Dialect.V3:
        return _v3_mismatch_of(request, reply)
    if (txn_id is None) != (reply.dialect is Dialect.V2):
        return "dialect of the reply", "V2" if txn_id is None else "V3", str(reply.dialect)
    for name, expected in _v2_echo(request).items():
        if getattr(reply, name) != expected:
            return f"{name} of the reply", str(expected), str(getattr(reply, name))
    return None


def txn_id_of(frame: bytes) -> int | None:
    """The id that a reply to this request will bear; None if it is not V3."""
    if not _is_v3(frame):
        return None
    message = v3_pb2.Request()
    try:
        message.ParseFromString(frame)
    except DecodeError:
        return None
    return message.header.txn_id if message.header.HasField("txn_id") else None


def _is_v3(frame: bytes) -> bool:
    """Whether the first byte may begin a V3 frame; no V2 reply begins like that but the refusal of such a version."""
    return frame[:1] >= bytes([framing.V3_FIRST_BYTE_MIN])


def _refuses_version(frame: bytes) -> bool:
    """Whether a frame is the V2 reply that refuses a version of 8 or above, which it echoes."""
    if len(frame) < _REPLY.size:
        return False
    header, code, _, _ = _REPLY.unpack_fixed(frame)
    _, operation, flags = framing.split_header(header)
    return code == EBADVERSION.v2 and operation in _V2_OPERATIONS and flags == 0


def _v3(frame: bytes) -> Reply:
    message = v3_pb2.Response.FromString(frame)
    if not message.IsInitialized():
        raise Unreadable(f"V3 without {', '.join(message.FindInitializationErrors())}: {frame[:64].hex()}")
    part = next((value for field, value in message.ListFields() if field.name.endswith("_response")), None)
    bodies = getattr(part, "body", None)
    batch = isinstance(part, v3_pb2.BatchReadResponse)
    return Reply(
        Dialect.V3,
        frame,
        message.header.operation,
        message.header.version,
        BY_V3_CODE[message.status],
        getattr(part, "ledger_id", None),
        getattr(part, "start_entry_id" if batch else "entry_id", None),
        message.header.txn_id,
        body=bodies if isinstance(bodies, bytes) else b"",
        entries=tuple(bodies) if batch and bodies else (),
        part=part,
        message=message,
    )


def _v2(frame: bytes) -> Reply:
    (header,) = _HEADER.unpack_from(frame, 0)
    version, operation, flags = framing.split_header(header)
    if operation not in _V2_OPERATIONS:
        raise Unreadable(f"V2 has no operation {operation}: {frame[:64].hex()}")
    if operation == Operation.AUTH:
        message = v3_pb2.AuthMessage.FromString(frame[_HEADER.size :])
        return Reply(Dialect.V2, frame, operation, version, None, flags=flags, message=message)
    if operation == Operation.BATCH_READ_ENTRY:
        _, code, ledger_id, entry_id, request_id = _BATCH_REPLY.unpack_from(frame, 0)
        entries = tuple(bytes(entry) for entry in Records.parse(frame[_BATCH_REPLY.size :]))
        status = BY_V2_CODE[code]
        return Reply(
            Dialect.V2, frame, operation, version, status, ledger_id, entry_id, request_id, flags, entries=entries
        )
    _, code, ledger_id, entry_id = _REPLY.unpack_from(frame, 0)
    body = frame[_REPLY.size :]
    return Reply(Dialect.V2, frame, operation, version, BY_V2_CODE[code], ledger_id, entry_id, None, flags, body)


def _v2_echo(request: bytes) -> dict[str, object]:
    """The fields that a V2 reply repeats from its request."""
    (header,) = _HEADER.unpack_from(request, 0)
    version, operation, _ = framing.split_header(header)
    if operation == Operation.AUTH:
        return {"operation": operation}
    if operation == Operation.ADD_ENTRY:
        _, _, ledger_id, entry_id = _ADD.unpack_from(request, 0)
    elif operation == Operation.BATCH_READ_ENTRY:
        _, ledger_id, entry_id, request_id, _, _ = _BATCH.unpack_from(request, 0)
        return {
            "operation": operation,
            "request_id": request_id,
            "version": version,
            "ledger_id": ledger_id,
            "entry_id": entry_id,
        }
    else:
        _, ledger_id, entry_id = _READ.unpack_from(request, 0)
    return {"operation": operation, "version": version, "ledger_id": ledger_id, "entry_id": entry_id, "flags": 0}


def _v3_mismatch_of(request: bytes, reply: Reply) -> tuple[str, str, str] | None:
    message = v3_pb2.Request()
    message.ParseFromString(request)
    header = message.header
    for name, expected, seen in (
        ("transaction id", header.txn_id, reply.request_id),
        ("operation", header.operation, reply.operation),
    ):
        if expected != seen:
            return f"{name} of the reply", str(expected), str(seen)
    parts = PARTS.get(V3Operation(header.operation)) if header.operation else None
    requested_part = getattr(message, parts.request) if parts and message.HasField(parts.request) else None
    if requested_part is None or reply.part is None:
        return None
    names = ["ledger_id"]
    if not (isinstance(requested_part, v3_pb2.ReadRequest) and requested_part.HasField("previous_lac")):
        names += ["entry_id", "start_entry_id"]  # a long poll may bring another entry than the one asked for
    for name in names:
        expected, seen = getattr(requested_part, name, None), getattr(reply.part, name, None)
        if expected is not None and seen is not None and expected != seen:
            return f"{name} of the reply", str(expected), str(seen)
    return None

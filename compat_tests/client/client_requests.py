"""Requests as a scripted bookie understands them, in either protocol version."""

from __future__ import annotations

from typing import Any

import attrs
from google.protobuf.message import DecodeError

from compat_tests.judge.case import V2, V3, Dialect
from protocol_specs import codecs, fields
from protocol_specs.codecs import Malformed
from protocol_specs.entry.version import ids_of
from protocol_specs.ledger_id import join
from protocol_specs.wire import framing, v2, v3, v3_pb2
from protocol_specs.wire.operations import PARTS, Flag, Operation, V3Operation

ADD = "add"
READ = "read"
BATCH_READ = "batch read"
AUTH = "auth"
WRITE_LAC = "write lac"
READ_LAC = "read lac"
INFO = "info"
START_TLS = "start tls"
FORCE = "force"
LIST = "list"
UNKNOWN = "unknown"
"""An operation that no bookie serves, or bytes that are no request."""

_V3_NAMES = {
    V3Operation.READ_ENTRY: READ,
    V3Operation.ADD_ENTRY: ADD,
    V3Operation.AUTH: AUTH,
    V3Operation.WRITE_LAC: WRITE_LAC,
    V3Operation.READ_LAC: READ_LAC,
    V3Operation.GET_BOOKIE_INFO: INFO,
    V3Operation.START_TLS: START_TLS,
    V3Operation.FORCE_LEDGER: FORCE,
    V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER: LIST,
    V3Operation.BATCH_READ_ENTRY: BATCH_READ,
}

_HEADER = codecs.derive("packet header", codecs.leading(v2.READ_REQUEST, "ledger_id"))
_ADD = codecs.derive("add request", v2.ADD_REQUEST)
_READ = codecs.derive("read request", v2.READ_REQUEST)
_BATCH = codecs.derive("batch read request", v2.BATCH_READ_REQUEST)


@attrs.frozen(kw_only=True)
class ClientRequest:
    """One request; fields that its operation lacks have their defaults."""

    dialect: Dialect
    operation: str
    """One of the names above."""
    raw: bytes
    """The frame without its length."""
    version: int = 0
    ledger_id: int = fields.NO_ENTRY
    entry_id: int = fields.NO_ENTRY
    """Of a batch read: where it starts.  Of a write lac: the last add confirmed."""
    fencing: bool = False
    recovery: bool = False
    high_priority: bool = False
    deferred_sync: bool = False
    key: bytes | None = None
    body: bytes = b""
    """The entry of an add, the body of a write lac, the payload of an auth."""
    max_count: int = 0
    max_size: int = 0
    inside_tls: bool = False
    """Whether it came inside TLS."""
    number: int = 0
    """Transaction id of V3, request id of a V2 batch read."""
    previous_lac: int | None = None
    """Not None: a long poll."""
    timeout_ms: int = 0
    piggyback: bool = False
    requested: int = 0
    """The bits of an info: which numbers it asks for."""
    message: Any = None
    """The message of V3."""

    def __str__(self) -> str:
        marks = [name.replace("_", " ") for name in ("fencing", "recovery", "high_priority") if getattr(self, name)]
        end = f" ({', '.join(marks)})" if marks else ""
        return f"{self.dialect} {self.operation} of entry {self.entry_id} of ledger {self.ledger_id}{end}"


def understand(frame: bytes) -> ClientRequest:
    """Read a frame as a bookie does: as V3 if it can be, else as V2."""
    if frame[:1] >= bytes([framing.V3_FIRST_BYTE_MIN]):
        try:
            message = v3_pb2.Request.FromString(frame)
        except DecodeError:
            return ClientRequest(dialect=V3, operation=UNKNOWN, raw=frame)
        whole = message.IsInitialized()
        return _of_v3(frame, message) if whole else ClientRequest(dialect=V3, operation=UNKNOWN, raw=frame)
    try:
        return _of_v2(frame)
    except Malformed:
        return ClientRequest(dialect=V2, operation=UNKNOWN, raw=frame)


def _of_v2(frame: bytes) -> ClientRequest:
    version, code, flags = framing.split_header(_HEADER.unpack_from(frame)[0])
    marks: dict[str, Any] = {
        "dialect": V2,
        "raw": frame,
        "version": version,
        "high_priority": bool(flags & Flag.HIGH_PRIORITY),
    }
    if code == Operation.ADD_ENTRY:
        _, key, ledger_id, entry_id, _ = _ADD.unpack_from(frame)
        body = frame[_HEADER.size + fields.MASTER_KEY_SIZE :]
        recovery = bool(flags & Flag.RECOVERY_ADD)
        return ClientRequest(
            operation=ADD, ledger_id=ledger_id, entry_id=entry_id, key=key, body=body, recovery=recovery, **marks
        )
    fencing = bool(flags & Flag.FENCING)
    if code == Operation.READ_ENTRY:
        _, ledger_id, entry_id, key = _READ.unpack_from(frame)
        return ClientRequest(operation=READ, ledger_id=ledger_id, entry_id=entry_id, fencing=fencing, key=key, **marks)
    if code == Operation.BATCH_READ_ENTRY:
        _, ledger_id, entry_id, number, count, size, key = _BATCH.unpack_from(frame)
        marks.update(number=number, max_count=count, max_size=size, key=key)
        return ClientRequest(operation=BATCH_READ, ledger_id=ledger_id, entry_id=entry_id, fencing=fencing, **marks)
    if code == Operation.AUTH:
        return ClientRequest(operation=AUTH, body=frame[_HEADER.size :], **marks)
    return ClientRequest(operation=UNKNOWN, **marks)


def _of_v3(frame: bytes, message: Any) -> ClientRequest:
    header = message.header
    operation = V3Operation(header.operation)
    marks: dict[str, Any] = {
        "dialect": V3,
        "raw": frame,
        "version": header.version,
        "number": header.txn_id,
        "high_priority": header.priority > 0,
        "message": message,
        "operation": _V3_NAMES.get(operation, UNKNOWN),
    }
    if operation not in PARTS:
        return ClientRequest(**marks)
    part: Any = getattr(message, PARTS[operation].request)
    for name, field in _V3_FIELDS.items():
        if field in part.DESCRIPTOR.fields_by_name and part.HasField(field):
            marks[name] = getattr(part, field)
    for field in ("start_entry_id", "lac"):
        marks["entry_id"] = getattr(part, field, marks.get("entry_id", fields.NO_ENTRY))
    if hasattr(part, "payload"):
        marks["body"] = part.payload
    if hasattr(part, "ledger_id"):
        marks["ledger_id"] = join(part.ledger_scope_id, part.ledger_id)
    if operation == V3Operation.ADD_ENTRY:
        marks["recovery"] = part.flag == v3_pb2.AddRequest.RECOVERY_ADD and part.HasField("flag")
        marks["deferred_sync"] = bool(part.write_flags & v3.WriteFlag.DEFERRED_SYNC)
        marks.update(_ids_inside(part.body))
    elif operation in (V3Operation.READ_ENTRY, V3Operation.BATCH_READ_ENTRY):
        marks["fencing"] = part.HasField("flag") and part.flag == v3_pb2.ReadRequest.FENCE_LEDGER
        marks["piggyback"] = part.HasField("flag") and part.flag == v3_pb2.ReadRequest.ENTRY_PIGGYBACK
    return ClientRequest(**marks)


_V3_FIELDS = {
    "entry_id": "entry_id",
    "key": "master_key",
    "body": "body",
    "max_count": "max_count",
    "max_size": "max_size",
    "previous_lac": "previous_lac",
    "timeout_ms": "time_out",
    "requested": "requested",
}


def _ids_inside(entry: bytes) -> dict[str, int]:
    """The ids of an add are those inside its entry, not those of the request around it."""
    try:
        ledger_id, entry_id = ids_of(entry)
    except Malformed:
        return {}
    return {"ledger_id": ledger_id, "entry_id": entry_id}

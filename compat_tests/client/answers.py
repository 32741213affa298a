"""Answers of a scripted bookie, and their bytes in the protocol version of the request."""

from __future__ import annotations

from typing import Any

import attrs
from construct import VarInt

from compat_tests.client import client_requests as names
from compat_tests.client.client_requests import ClientRequest
from compat_tests.judge.case import V2, Dialect
from protocol_specs import codecs
from protocol_specs.ledger_id import split
from protocol_specs.wire import framing, v2, v3_pb2
from protocol_specs.wire.auth import AUTH_DISABLED_PLUGIN, SASL_PLUGIN
from protocol_specs.wire.operations import PARTS, Operation, V3Operation
from protocol_specs.wire.status import EBADREQ, EOK, Status

_ADD = codecs.derive("add reply", v2.ADD_REPLY)
_READ = codecs.derive("read reply", v2.READ_REPLY)
_BATCH = codecs.derive("batch read reply", v2.BATCH_READ_REPLY)
_AUTH = codecs.derive("auth", v2.AUTH)

_V2_CODES = {names.ADD: Operation.ADD_ENTRY, names.READ: Operation.READ_ENTRY, names.BATCH_READ: 7, names.AUTH: 3}


@attrs.frozen(kw_only=True)
class Answer:
    """A reply before it is encoded.  A field that is None is taken from the request, or left out."""

    status: Status | int = EOK
    """A row of the status table, or any number."""
    ledger_id: int | None = None
    entry_id: int | None = None
    number: int | None = None
    """Transaction id or request id."""
    body: bytes | None = None
    entries: tuple[bytes, ...] = ()
    max_lac: int | None = None
    lac_body: bytes | None = None
    last_entry_body: bytes | None = None
    entry_list: bytes | None = None
    total_bytes: int | None = None
    free_bytes: int | None = None
    updated_ms: int | None = None
    token: bytes | None = None
    """The token of the plugin ``sasl``; None: the answer that no authentication is needed."""
    part: bool = True
    """Whether a V3 reply has the part of its operation."""


def encode(request: ClientRequest, answer: Answer) -> bytes:
    """The frame, without its length, that answers ``request``."""
    return _v2(request, answer) if request.dialect == V2 else _v3(request, answer)


def _code(answer: Answer, dialect: Dialect) -> int:
    if isinstance(answer.status, int):
        return answer.status
    return answer.status.v2 if dialect == V2 else answer.status.v3


def _v2(request: ClientRequest, answer: Answer) -> bytes:
    header = framing.join_header(request.version, _V2_CODES.get(request.operation, 0))
    if request.operation == names.AUTH:
        plugin, token = _token(answer)
        message = v3_pb2.AuthMessage(auth_plugin_name=plugin, payload=token)
        return _AUTH.pack(header, message.SerializeToString())
    ledger_id = request.ledger_id if answer.ledger_id is None else answer.ledger_id
    entry_id = request.entry_id if answer.entry_id is None else answer.entry_id
    start = (header, _code(answer, V2), ledger_id, entry_id)
    if request.operation == names.BATCH_READ:
        return _BATCH.pack(*start, request.number if answer.number is None else answer.number, answer.entries)
    if request.operation == names.READ:
        return _READ.pack(*start, answer.body or b"")
    return _ADD.pack(*start)


def _v3(request: ClientRequest, answer: Answer) -> bytes:
    reply = v3_pb2.Response()
    _set_status(reply, 2, _code(answer, request.dialect))
    reply.header.CopyFrom(request.message.header)
    if answer.number is not None:
        reply.header.txn_id = answer.number
    operation = V3Operation(reply.header.operation)
    if not answer.part or operation not in PARTS:
        return reply.SerializePartialToString()
    part: Any = getattr(reply, PARTS[operation].response)
    part.SetInParent()
    if operation == V3Operation.AUTH:
        part.auth_plugin_name, part.payload = _token(answer)
        return reply.SerializePartialToString()
    _fill(part, request, answer)
    if "status" in part.DESCRIPTOR.fields_by_name:
        _set_status(part, 1, _code(answer, request.dialect))
    return reply.SerializePartialToString()


def _token(answer: Answer) -> tuple[str, bytes]:
    return (AUTH_DISABLED_PLUGIN, b"") if answer.token is None else (SASL_PLUGIN, answer.token)


def _set_status(message: Any, field_number: int, code: int) -> None:
    if code in v3_pb2.StatusCode.values():
        message.status = code
    else:  # a number that the enum does not have travels as any other
        message.MergeFromString(bytes([field_number << 3]) + VarInt.build(code))


def _fill(part: Any, request: ClientRequest, answer: Answer) -> None:
    scope_id, ledger_id = split(request.ledger_id) if request.ledger_id >= 0 else (0, request.ledger_id)
    values: dict[str, Any] = {
        "ledger_id": ledger_id if answer.ledger_id is None else answer.ledger_id,
        "ledger_scope_id": scope_id or None,
        "body": answer.body,
        "max_lac": answer.max_lac,
        "lac_body": answer.lac_body,
        "last_entry_body": answer.last_entry_body,
        "availability_of_entries_of_ledger": answer.entry_list,
        "total_disk_capacity": answer.total_bytes,
        "free_disk_space": answer.free_bytes,
        "lac_update_timestamp": answer.updated_ms,
    }
    entry_id = request.entry_id if answer.entry_id is None else answer.entry_id
    values["entry_id"] = values["start_entry_id"] = entry_id
    known = part.DESCRIPTOR.fields_by_name
    if request.operation == names.BATCH_READ:
        values["body"] = None
        part.body.extend(answer.entries)
    for name, value in values.items():
        if name in known and value is not None:
            setattr(part, name, value)


REFUSED = Answer(status=EBADREQ, part=False)
"""How Java answers an operation of V3 that it knows only by number."""

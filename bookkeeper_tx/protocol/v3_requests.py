"""What a client asks in the V3 dialect, and how it reads the answers (docs/protocol/v3.md).

Flags are those of V2 (:class:`~protocol_specs.wire.operations.Flag`), so that callers need not know the dialect.
"""

from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from bookkeeper_tx.errors import ProtocolViolation
from protocol_specs import codecs
from protocol_specs.wire import status as statuses
from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.operations import Flag, V3Operation
from protocol_specs.wire.status import Status

_pack_length = codecs.RECORD_LENGTH.pack_fixed


class Reply(NamedTuple):
    """A reply: what it answers is named by ``operation`` and ``txn_id`` together."""

    operation: V3Operation
    txn_id: int
    status: Status
    value: Any
    """The entry of a read; (explicit LAC body or None, last entry or None) of a LAC read, whatever the status; (total
    bytes, free bytes), each None unless asked for, of a bookie info; otherwise None."""


def _frame(operation: Any, txn_id: int, flags: int = 0, **parts: Any) -> bytes:
    priority = v3.PRIORITY_HIGH if flags & Flag.HIGH_PRIORITY else None
    header = v3_pb2.PacketHeader(version=v3.VERSION, operation=operation, txn_id=txn_id, priority=priority)
    body = v3_pb2.Request(header=header, **parts).SerializeToString()
    return _pack_length(len(body)) + body


def add_entry(txn_id: int, ledger_id: int, entry_id: int, entry: bytes, master_key: bytes, flags: int = 0) -> bytes:
    """Encode an add of ``entry``, as sealed by a digest."""
    request = v3_pb2.AddRequest(
        ledger_id=ledger_id,
        entry_id=entry_id,
        master_key=master_key,
        body=entry,
        flag=v3_pb2.AddRequest.RECOVERY_ADD if flags & Flag.RECOVERY_ADD else None,
    )
    return _frame(V3Operation.ADD_ENTRY, txn_id, flags, add_request=request)


def read_entry(txn_id: int, ledger_id: int, entry_id: int, flags: int = 0, master_key: bytes | None = None) -> bytes:
    """Encode a read; with the fencing flag ``master_key`` must be given."""
    request = v3_pb2.ReadRequest(
        ledger_id=ledger_id,
        entry_id=entry_id,
        master_key=master_key,
        flag=v3_pb2.ReadRequest.FENCE_LEDGER if flags & Flag.FENCING else None,
    )
    return _frame(V3Operation.READ_ENTRY, txn_id, flags, read_request=request)


def read_last_add_confirmed(txn_id: int, ledger_id: int) -> bytes:
    """Encode a read of explicit LAC and last entry."""
    request = v3_pb2.ReadLacRequest(ledger_id=ledger_id)
    return _frame(V3Operation.READ_LAC, txn_id, read_lac_request=request)


def write_last_add_confirmed(
    txn_id: int, ledger_id: int, last_add_confirmed: int, master_key: bytes, body: bytes
) -> bytes:
    """Encode a write of the explicit LAC ``body``, as sealed by a digest."""
    request = v3_pb2.WriteLacRequest(ledger_id=ledger_id, lac=last_add_confirmed, master_key=master_key, body=body)
    return _frame(V3Operation.WRITE_LAC, txn_id, write_lac_request=request)


def bookie_info(
    txn_id: int, requested: int = v3.BookieInfo.TOTAL_DISK_CAPACITY | v3.BookieInfo.FREE_DISK_SPACE
) -> bytes:
    """Encode a question for the disk space of the bookie."""
    request = v3_pb2.GetBookieInfoRequest(requested=requested)
    return _frame(V3Operation.GET_BOOKIE_INFO, txn_id, get_bookie_info_request=request)


def decode(frame: bytes) -> Reply:
    """Read the reply in ``frame`` (without its length).

    Raises :class:`ProtocolViolation` for bytes that are no reply, for a status or operation of a later protocol, and
    for success without the part that carries it.
    """
    response = v3_pb2.Response()
    try:
        response.ParseFromString(frame)
    except DecodeError as error:
        raise ProtocolViolation(f"the bookie sent a frame that is no V3 reply: {error}") from error
    if not response.IsInitialized():
        raise ProtocolViolation("the bookie sent a V3 reply that lacks a field, or has an unknown value in it")
    operation = V3Operation(response.header.operation)
    status = statuses.BY_V3_CODE[response.status]
    parts = v3.PARTS.get(operation)
    if parts is None or not response.HasField(parts.response):
        if status is statuses.EOK:
            raise ProtocolViolation(f"the bookie sent a V3 reply to {operation.name} that says EOK and nothing else")
        return Reply(operation, response.header.txn_id, status, None)
    part = getattr(response, parts.response)
    if status is statuses.EOK:
        status = statuses.BY_V3_CODE[getattr(part, "status", statuses.OK)]
    return Reply(operation, response.header.txn_id, status, _value(operation, part, status))


def _value(operation: V3Operation, part: Any, status: Status) -> Any:
    if operation is V3Operation.READ_LAC:
        return _present(part, "lac_body"), _present(part, "last_entry_body")
    if status is not statuses.EOK:
        return None
    if operation is V3Operation.READ_ENTRY:
        return part.body
    if operation is V3Operation.GET_BOOKIE_INFO:
        return _present(part, "total_disk_capacity"), _present(part, "free_disk_space")
    return None


def _present(part: Any, field: str) -> Any:
    return getattr(part, field) if part.HasField(field) else None

"""V3 requests, without their length; any of them may be wrong on purpose."""

from typing import Any

from google.protobuf.message import Message

from compat_tests.wire.entries import KEY, entry, explicit_lac
from protocol_specs import fields
from protocol_specs.wire import v3, v3_pb2
from protocol_specs.wire.operations import PARTS, V3Operation

TXN_ID = 5


def request(
    operation: int, part: Message | None = None, *, txn_id: int = TXN_ID, version: int = v3.VERSION, priority: int = 0
) -> bytes:
    """The frame of a request, without its length; None for ``part`` leaves the part out."""
    header = v3_pb2.PacketHeader(version=version, operation=operation, txn_id=txn_id)  # type: ignore[arg-type]
    if priority:
        header.priority = priority
    message = v3_pb2.Request(header=header)
    if part is not None:
        getattr(message, PARTS[V3Operation(operation)].request).CopyFrom(part)
    return message.SerializeToString()


def add(ledger_id: int, entry_id: int, body: bytes | None = None, **options: Any) -> bytes:
    """An add; ``options`` are those of :func:`request`, and fields of the part."""
    part = v3_pb2.AddRequest(
        ledger_id=ledger_id,
        entry_id=entry_id,
        master_key=options.pop("key", KEY),
        body=entry(ledger_id, entry_id, entry_id - 1) if body is None else body,
    )
    return request(V3Operation.ADD_ENTRY, *_fill(part, options), **options)


def read(ledger_id: int, entry_id: int, **options: Any) -> bytes:
    """A read; ``key`` is its master key."""
    part = v3_pb2.ReadRequest(ledger_id=ledger_id, entry_id=entry_id)
    if "key" in options:
        part.master_key = options.pop("key")
    return request(V3Operation.READ_ENTRY, *_fill(part, options), **options)


def batch_read(ledger_id: int, start_entry_id: int, max_count: int, max_size: int, **options: Any) -> bytes:
    """A batch read; ``key`` is its master key."""
    part = v3_pb2.BatchReadRequest(
        ledger_id=ledger_id, start_entry_id=start_entry_id, max_count=max_count, max_size=max_size
    )
    if "key" in options:
        part.master_key = options.pop("key")
    return request(V3Operation.BATCH_READ_ENTRY, *_fill(part, options), **options)


def fence(ledger_id: int, entry_id: int = fields.LAST_ENTRY, key: bytes = KEY, **options: Any) -> bytes:
    """A fencing read."""
    return read(ledger_id, entry_id, key=key, flag=v3_pb2.ReadRequest.FENCE_LEDGER, **options)


def poll(ledger_id: int, previous_lac: int, time_out: int | None = None, **options: Any) -> bytes:
    """A long poll that wants the next entry in its reply, unless ``options`` say otherwise."""
    options = {"flag": v3_pb2.ReadRequest.ENTRY_PIGGYBACK, "entry_id": fields.LAST_ENTRY, **options}
    if time_out is not None:
        options["time_out"] = time_out
    return read(ledger_id, options.pop("entry_id"), previous_lac=previous_lac, **options)


def write_lac(ledger_id: int, last_add_confirmed: int, body: bytes | None = None, **options: Any) -> bytes:
    """A WRITE_LAC."""
    part = v3_pb2.WriteLacRequest(
        ledger_id=ledger_id,
        lac=last_add_confirmed,
        master_key=options.pop("key", KEY),
        body=explicit_lac(ledger_id, last_add_confirmed) if body is None else body,
    )
    return request(V3Operation.WRITE_LAC, part, **options)


def read_lac(ledger_id: int, **options: Any) -> bytes:
    return request(V3Operation.READ_LAC, v3_pb2.ReadLacRequest(ledger_id=ledger_id), **options)


def force(ledger_id: int, **options: Any) -> bytes:
    return request(V3Operation.FORCE_LEDGER, v3_pb2.ForceLedgerRequest(ledger_id=ledger_id), **options)


def list_entries(ledger_id: int, **options: Any) -> bytes:
    part = v3_pb2.GetListOfEntriesOfLedgerRequest(ledger_id=ledger_id)
    return request(V3Operation.GET_LIST_OF_ENTRIES_OF_LEDGER, part, **options)


def info(requested: int | None = None, **options: Any) -> bytes:
    part = v3_pb2.GetBookieInfoRequest()
    if requested is not None:
        part.requested = requested
    return request(V3Operation.GET_BOOKIE_INFO, part, **options)


def start_tls(**options: Any) -> bytes:
    """The request that a client sends before its ClientHello."""
    return request(V3Operation.START_TLS, v3_pb2.StartTlsRequest(), **options)


def auth(plugin: str, payload: bytes, **options: Any) -> bytes:
    part = v3_pb2.AuthMessage(auth_plugin_name=plugin, payload=payload)
    return request(V3Operation.AUTH, part, **options)


def _fill(part: Message, options: dict[str, Any]) -> list[Message]:
    """Move the options that are fields of the part into it."""
    for name in [name for name in options if name in part.DESCRIPTOR.fields_by_name]:
        value = options.pop(name)
        if value is not None:
            setattr(part, name, value)
    return [part]


def with_change(frame: bytes, change: Any) -> bytes:
    """The frame with ``change`` applied to its message."""
    message = v3_pb2.Request.FromString(frame)
    change(message)
    return message.SerializePartialToString()

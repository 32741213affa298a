"""V3 replies in a few words, and in a form in which those of two bookies can be compared."""

from typing import Any

from google.protobuf.message import DecodeError

from protocol_specs.wire import v3_pb2
from protocol_specs.wire.status import BY_V3_CODE

#: Fields in which no two bookies agree: only their presence is compared.
VOLATILE = ("lac_update_timestamp", "total_disk_capacity", "free_disk_space")


def txn_id_of_reply(reply: bytes) -> int | None:
    """The transaction id of a V3 reply; None if it is not V3."""
    try:
        message = v3_pb2.Response.FromString(reply)
    except DecodeError:
        return None
    return message.header.txn_id if message.IsInitialized() else None


def without_volatile_values(reply: bytes) -> bytes:
    """The reply with 1 in each field whose value differs from one bookie, or moment, to the next."""
    message = v3_pb2.Response.FromString(reply)
    part = part_of(message)
    volatile = [name for name in VOLATILE if part is not None and name in part.DESCRIPTOR.fields_by_name]
    for name in volatile:
        if part.HasField(name):
            assert getattr(part, name) > 0
            setattr(part, name, 1)
    return message.SerializeToString() if volatile else reply


def part_of(message: Any) -> Any:
    """The part of a reply, if it has one."""
    parts = [value for field, value in message.ListFields() if field.name.endswith("_response")]
    return parts[0] if parts else None


def brief(reply: bytes) -> str:
    """A reply in a few words: its status, that of its part if there is one, and what else is in the part."""
    message = v3_pb2.Response.FromString(reply)
    words = [BY_V3_CODE[message.status].name]
    part = part_of(message)
    if part is None:
        return f"{words[0]} alone"
    for field, value in part.ListFields():
        if field.name == "status":
            if value != message.status:
                words.append(f"part:{BY_V3_CODE[value].name}")
        elif field.name not in ("ledger_id", "entry_id"):
            words.append(field.name if isinstance(value, bytes) else f"{field.name}={value}")
    return " ".join(words)

"""The meanings of the numbers in frames."""

from collections.abc import Callable, Mapping
from enum import IntFlag
from typing import Any

from protocol_specs import fields
from protocol_specs.wire import framing, status, v3
from protocol_specs.wire.operations import Flag, Operation


def header(word: int) -> str:
    """Say what a V2 packet header means."""
    version, operation, flag_bits = framing.split_header(word)
    shown = f"version {version}, {operation_name(operation)}"
    if version > framing.VERSION_MAX:
        shown += f" (bookies serve versions up to {framing.VERSION_MAX})"
    return f"{shown}, {flags(Flag, flag_bits)}" if flag_bits else shown


def operation_name(operation: int) -> str:
    """Return the name of a V2 operation."""
    return Operation(operation).name if operation in set(Operation) else f"unknown operation {operation}"


def flags(kind: type[IntFlag], bits: int) -> str:
    """Return the names of the flags in ``bits``, and the bits without a name."""
    names = [str(each.name) for each in kind if bits & each]
    unknown = bits & ~sum(kind)
    return " | ".join(names + ([f"{unknown:#x} unknown"] if unknown else [])) or "none"


def v2_status(code: int) -> str:
    """Say what a V2 return code stands for."""
    row = status.BY_V2_CODE.get(code)
    return f"{row.name}: {row.sentence}" if row else "unknown: Java's clients close the connection"


def v3_status(code: int) -> str:
    """Say what a V3 status stands for."""
    row = status.BY_V3_CODE.get(code)
    return f"{row.name}: {row.sentence}" if row else ""


def asked_entry(entry_id: int) -> str:
    """Say which entry a request asks for."""
    return "the last entry that the bookie stores" if entry_id == fields.LAST_ENTRY else _id(entry_id)


def last_add_confirmed(entry_id: int) -> str:
    """Say how far adds were acknowledged."""
    return "none yet" if entry_id == fields.NO_ENTRY else _id(entry_id)


def _id(entry_id: int) -> str:
    return "no entry has a negative id" if entry_id < 0 else ""


def max_count(count: int) -> str:
    """Say how many entries may come."""
    return "no limit" if count <= 0 else ""


def max_size(size: int) -> str:
    """Say how many bytes may come."""
    return "one entry, whatever its size" if size <= 0 else ""


V2: Mapping[str, Callable[[Any], str]] = {
    "header": header,
    "status": v2_status,
    "entry_id": asked_entry,
    "start_entry_id": asked_entry,
    "max_count": max_count,
    "max_size": max_size,
}
"""By field of ``protocol_specs/wire/v2.py``."""

ENTRY: Mapping[str, Callable[[Any], str]] = {"last_add_confirmed": last_add_confirmed, "entry_id": _id}
"""By field of ``protocol_specs/entry``."""

V3: Mapping[str, Callable[[Any], str]] = {
    "status": v3_status,
    "entry_id": asked_entry,
    "start_entry_id": asked_entry,
    "max_count": max_count,
    "max_size": max_size,
    "lac": last_add_confirmed,
    "max_lac": last_add_confirmed,
    "requested": lambda bits: flags(v3.BookieInfo, bits),
    "write_flags": lambda bits: flags(v3.WriteFlag, bits),
    "time_out": lambda _: "milliseconds",
    "priority": lambda number: "ahead of ordinary requests" if number else "",
}
"""By field of ``protocol_specs/wire/v3.proto``."""

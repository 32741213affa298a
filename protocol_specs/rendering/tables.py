"""Tables of the reference in Markdown."""

from collections.abc import Iterable, Sequence
from enum import IntEnum, IntFlag
from typing import Any

from protocol_specs.rendering.layout import bit_fields, rows_of
from protocol_specs.states import Machine
from protocol_specs.wire.operations import PARTS, V3Operation


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" for cells in lines)


def fields(declaration: Any) -> str:
    """Return the table of a Struct or a BitStruct: offset, size, type, name and meaning of each field."""
    where = "bits" if bit_fields(declaration) is not None else "offset"
    rows = [[row.offset, row.size, row.type, f"`{row.name}`", row.meaning] for row in rows_of(declaration)]
    return table([where, "size", "type", "field", "meaning"], rows)


def numbers(kind: type[IntEnum] | type[IntFlag]) -> str:
    """Return the table of an enumeration or of the bits of a mask."""
    return table(["number", "name"], [[str(int(member)), member.name or ""] for member in kind])


def v3_operations() -> str:
    """Return the table of V3's operations with the fields that carry them."""
    rows = []
    for operation in V3Operation:
        parts = PARTS.get(operation)
        carried = [f"`{parts.request}`", f"`{parts.response}`"] if parts else ["none", "none"]
        rows.append([str(int(operation)), operation.name, *carried])
    return table(["number", "operation", "part of the request", "part of the response"], rows)


def transitions(machine: Machine) -> str:
    """Return the table of a state machine."""
    rows = [[f"`{row.state}`", row.event, row.action, f"`{row.next}`"] for row in machine.transitions]
    return table(["state", "event", "action", "next state"], rows)

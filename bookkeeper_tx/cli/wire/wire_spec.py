"""Declarations as tables: their fields, with offset, size and meaning."""

import json
from typing import Any

import click
from attrs import asdict, frozen
from construct import SizeofError
from google.protobuf.descriptor import FieldDescriptor
from rich.table import Table

from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.text.tables import print_table
from protocol_specs import declarations
from protocol_specs.declarations import Declaration
from protocol_specs.rendering import layout, proto


@frozen
class Shown:
    """One line of a table: a field, or a value of an enumeration."""

    offset: str
    """Of a field of a message: its number."""
    size: str
    """Of a field of a message: whether it is required."""
    type: str
    field: str
    meaning: str


def names() -> list[Declaration]:
    """Return all declarations."""
    return declarations.all_of_them()


def find(name: str) -> Declaration:
    """Return the declaration ``name``, written in full or only its last part where that is clear.

    Raises :class:`InvalidArgument` for others.
    """
    found = [each for each in names() if each.name == name] or [
        each for each in names() if each.name.rpartition(".")[2].lower() == name.lower()
    ]
    if not found:
        raise InvalidArgument(f"there is no declaration {name!r}: bktx wire spec lists them")
    if len(found) > 1:
        raise InvalidArgument(f"{name!r} may be any of {', '.join(each.name for each in found)}")
    return found[0]


def show_names(found: list[Declaration], as_json: bool) -> None:
    """Print the list of declarations."""
    if as_json:
        for each in found:
            click.echo(json.dumps({"name": each.name, "meaning": each.sentence}))
        return
    table = Table("name", "what it is", box=None, pad_edge=False)
    for each in found:
        table.add_row(each.name, each.sentence)
    print_table(table)


def show(found: Declaration, as_json: bool) -> None:
    """Print the fields of a declaration."""
    rows = list(_rows(found))
    if as_json:
        for row in rows:
            click.echo(json.dumps(asdict(row)))
        return
    click.echo(f"{found.name}: {found.sentence}" if found.sentence else found.name)
    first, second = ("number", "label") if found.is_message else ("offset", "size")
    table = Table(first, second, "type", "field", "meaning", box=None, pad_edge=False)
    for row in rows:
        table.add_row(row.offset, row.size, row.type, row.field, row.meaning)
    print_table(table)


def _rows(found: Declaration) -> list[Shown]:
    if found.is_message:
        return _message_rows(found.value)
    if isinstance(found.value, tuple):
        return [Shown("", "", "text", name, "") for name in found.value]
    if not hasattr(found.value, "subcons") and layout.bit_fields(found.value) is None:
        return [Shown("0", _size(found.value), type(found.value).__name__, "", "")]
    return [Shown(*row[1:4], row.name, row.meaning) for row in layout.rows_of(found.value)]


def _size(declaration: Any) -> str:
    try:
        return str(declaration.sizeof())
    except SizeofError:
        return "varies"


def _message_rows(kind: Any) -> list[Shown]:
    descriptor = kind.DESCRIPTOR
    said = proto.said_of(descriptor.file.name.removeprefix("protocol_specs/"))
    prefix = descriptor.full_name.removeprefix(descriptor.file.package + ".")
    rows = []
    for field in descriptor.fields:
        label, meaning = said[f"{prefix}.{field.name}"]
        rows.append(Shown(str(field.number), label, _type(field), field.name, meaning))
        if field.enum_type is not None:
            rows += [Shown("", "", "", f"  {value.name} = {value.number}", "") for value in field.enum_type.values]
    return rows


def _type(field: Any) -> str:
    named = field.message_type or field.enum_type
    return str(named.name) if named is not None else _TYPES[field.type]


_TYPES = {
    getattr(FieldDescriptor, f"TYPE_{name.upper()}"): name
    for name in ("int64", "int32", "uint64", "uint32", "bytes", "string", "bool")
}

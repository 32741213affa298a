"""Protobuf messages as tables; the meaning of a field is its comment in the ``.proto`` file, beside or above it."""

import re
from functools import cache
from importlib.resources import files
from typing import Any

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from protocol_specs.rendering.tables import table

_FIELD = re.compile(
    r"^\s*(?P<label>required |optional |repeated |map<[^>]*> )?(?:[\w.]+ )?(?P<name>\w+) = \d+[^;]*;"
    r"\s*(?://\s*(?P<said>.*))?$"
)
_OPEN = re.compile(r"^\s*(message|enum) (\w+) \{")
_COMMENT = re.compile(r"^\s*//\s?(.*)$")
_TYPES = {
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_BOOL: "bool",
}


@cache
def said_of(path: str) -> dict[str, tuple[str, str]]:
    """Return label and comment of each field and enum value, by name as in ``ReadRequest.Flag.FENCE_LEDGER``."""
    text = files("protocol_specs").joinpath(path).read_text(encoding="utf-8")
    found: dict[str, tuple[str, str]] = {}
    scope: list[str] = []
    above: list[str] = []
    for line in text.splitlines():
        if opened := _OPEN.match(line):
            scope.append(opened[2])
        elif line.strip() == "}":
            scope.pop()
        elif field := _FIELD.match(line):
            said = field["said"] or " ".join(above)
            found[".".join([*scope, field["name"]])] = (field["label"] or "").strip(), said
        elif comment := _COMMENT.match(line):
            above.append(comment[1])
            continue
        above = []
    return found


def message(kind: type[Message]) -> str:
    """Return the table of a message."""
    descriptor: Any = kind.DESCRIPTOR
    said = said_of(_path(descriptor))
    name = _name(descriptor)
    rows = [
        [str(field.number), f"`{field.name}`", _type(field), *said[f"{name}.{field.name}"]]
        for field in descriptor.fields
    ]
    return table(["number", "field", "type", "label", "meaning"], rows)


def _path(descriptor: Descriptor) -> str:
    return descriptor.file.name.removeprefix("protocol_specs/")


def _name(descriptor: Descriptor | EnumDescriptor) -> str:
    return descriptor.full_name.removeprefix(descriptor.file.package + ".")


def _type(field: FieldDescriptor) -> str:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return "map"
    if field.message_type is not None:
        return _name(field.message_type)
    if field.enum_type is not None and field.enum_type.containing_type is not None:
        # Declared inside this message: no other table lists its numbers.
        return "enum: " + ", ".join(f"{value.number} {value.name}" for value in field.enum_type.values)
    if field.enum_type is not None:
        return _name(field.enum_type)
    return _TYPES[field.type]

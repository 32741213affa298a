"""Reads protobuf messages field by field, with offsets, unknown fields included."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from protocol_specs.codecs import Malformed
from protocol_specs.fields import VARINT_SIZE_MAX
from protocol_specs.readable.shown import Sheet

VARINT, FIXED64, BYTES, GROUP_START, GROUP_END, FIXED32 = range(6)
"""Wire types: they say how many bytes a value has."""

NUMBER_SHIFT = 3
TYPE_MASK = 7

Inside: TypeAlias = Callable[[Sheet, bytes, int, int], None]
"""Reads the content of a bytes field into a sheet."""

_VARINTS = {
    FieldDescriptor.TYPE_INT32,
    FieldDescriptor.TYPE_INT64,
    FieldDescriptor.TYPE_UINT32,
    FieldDescriptor.TYPE_UINT64,
    FieldDescriptor.TYPE_BOOL,
    FieldDescriptor.TYPE_ENUM,
}
_SIGNED = {FieldDescriptor.TYPE_INT32, FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_ENUM}
_LENGTHS = {FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES, FieldDescriptor.TYPE_MESSAGE}


class MessageReader:
    """Reads messages; adds the meanings of values, and the contents of bytes fields."""

    def __init__(self, say: Mapping[str, Callable[[Any], str]], inside: Mapping[str, Inside]) -> None:
        self._say = say
        self._inside = inside

    def read(self, sheet: Sheet, kind: type[Message], data: bytes, start: int, end: int) -> Message:
        """Read ``data[start:end]`` into ``sheet`` and return the message.

        Raises :class:`Malformed` for bytes that are no message of this kind, and for missing required fields; all
        fields that can be read are in the sheet by then.
        """
        self._read_fields(sheet, kind.DESCRIPTOR, data, start, end)
        name, message = kind.DESCRIPTOR.name, kind()
        try:
            message.ParseFromString(data[start:end])
        except DecodeError as error:
            raise Malformed(name, name, start, str(error)) from None
        if missing := _missing(message):
            raise Malformed(name, missing[0], end, f"required and not there: {', '.join(missing)}")
        return message

    def _read_fields(self, sheet: Sheet, descriptor: Any, data: bytes, start: int, end: int) -> None:
        at = start
        while at < end:
            tag, value_at = _varint(data, at, end, descriptor.name, "tag")
            number, wire_type = tag >> NUMBER_SHIFT, tag & TYPE_MASK
            field = descriptor.fields_by_number.get(number)
            name = field.name if field is not None else f"unknown field {number}"
            if not number:
                raise Malformed(descriptor.name, "tag", at, "field number 0 is illegal")
            if wire_type == VARINT:
                value, after = _varint(data, value_at, end, descriptor.name, name)
                self._add_varint(sheet, field, name, at, after, value)
            elif wire_type in (GROUP_START, GROUP_END):
                after = value_at
                sheet.add(name, at, after - at, "group", "start" if wire_type == GROUP_START else "end")
            else:
                content, after = _content(wire_type, data, value_at, end, descriptor.name, name)
                self._add_content(sheet, field, name, wire_type, data, (at, content, after))
            at = after

    def _add_varint(self, sheet: Sheet, field: Any, name: str, at: int, after: int, value: int) -> None:
        if field is None or field.type not in _VARINTS:
            sheet.add(name, at, after - at, value, "unknown" if field is None else "of another type than declared")
            return
        if field.type in _SIGNED and value >= 1 << 63:
            value -= 1 << 64
        if field.type == FieldDescriptor.TYPE_INT32:
            value = (value + (1 << 31)) % (1 << 32) - (1 << 31)
        meaning = self._say[name](value) if name in self._say else ""
        if field.type == FieldDescriptor.TYPE_ENUM:
            known = field.enum_type.values_by_number.get(value)
            meaning = (meaning or known.name) if known else "an unknown value, which counts as absent"
        sheet.add(name, at, after - at, value, meaning)

    def _add_content(
        self,
        sheet: Sheet,
        field: Any,
        name: str,
        wire_type: int,
        data: bytes,
        where: tuple[int, int, int],
    ) -> None:
        at, content, after = where
        value = data[content:after]
        if field is None or field.type not in _LENGTHS or wire_type != BYTES:
            sheet.add(name, at, after - at, value, "unknown" if field is None else "of another type than declared")
        elif field.type == FieldDescriptor.TYPE_MESSAGE:
            with sheet.part(name, at, after - at) as part:
                self._read_fields(part, field.message_type, data, content, after)
        elif field.type == FieldDescriptor.TYPE_STRING:
            sheet.add(name, at, after - at, value.decode("utf-8", "replace"))
        elif (inside := self._inside.get(f"{field.containing_type.name}.{name}")) is not None:
            inside_of = f"{len(value)} bytes"
            with sheet.part(name, at, after - at, inside_of) as part:
                inside(part, data, content, after)
        else:
            sheet.add(name, at, after - at, value, self._say[name](value) if name in self._say else "")


def _missing(message: Any) -> list[str]:
    """Return the paths of required fields that are missing; unknown enum values count as missing."""
    return list(message.FindInitializationErrors())


def _varint(data: bytes, at: int, end: int, spec: str, field: str) -> tuple[int, int]:
    """Return the value of the varint at ``at``, 64 bits of it, and the offset after it."""
    value = 0
    for index in range(VARINT_SIZE_MAX):
        if at + index >= end:
            raise Malformed(spec, field, at + index, "cut short")
        byte = data[at + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value & (1 << 64) - 1, at + index + 1
    raise Malformed(spec, field, at, f"a varint of more than {VARINT_SIZE_MAX} bytes")


def _content(wire_type: int, data: bytes, at: int, end: int, spec: str, field: str) -> tuple[int, int]:
    """Return where the value starts and ends."""
    if wire_type == BYTES:
        length, start = _varint(data, at, end, spec, field)
    elif wire_type in (FIXED64, FIXED32):
        length, start = 8 if wire_type == FIXED64 else 4, at
    else:
        raise Malformed(spec, field, at, f"wire type {wire_type} does not exist")
    if start + length > end:
        raise Malformed(spec, field, start, f"needs {length} bytes, has {end - start}")
    return start, start + length

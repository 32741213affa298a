"""The bytes of a protobuf message cut into its fields, each with its meaning in words."""

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from protocol_specs import fields
from protocol_specs.entry import v1
from protocol_specs.rendering.pieces import Piece, entry_pieces, explicit_lac_pieces, pieces_of
from protocol_specs.wire import entry_list

_VARINT, _LENGTH_DELIMITED = 0, 2
_ENTRY_FIELDS = {"AddRequest.body", "ReadResponse.body", "BatchReadResponse.body", "ReadLacResponse.last_entry_body"}
_LAC_FIELDS = {"WriteLacRequest.body", "ReadLacResponse.lac_body"}


class NotShown(ValueError):
    """A wire type that no message of the protocol uses."""


def frame_pieces(descriptor: Any, data: bytes) -> Iterator[Piece]:
    """Cut a frame that holds a message."""
    size = fields.FRAME_LENGTH_SIZE
    yield Piece(data[:size], f"length {fields.frame_length.parse(data[:size])}")
    yield from message_pieces(descriptor, data[size:])


def message_pieces(descriptor: Any, data: bytes, depth: int = 0) -> Iterator[Piece]:
    """Cut a message: a piece for each field, nested messages field by field."""
    at = 0
    while at < len(data):
        start = at
        tag, at = _varint(data, at)
        field = descriptor.fields_by_number.get(tag >> 3)
        name = f"{field.name} ({field.number})" if field else f"unknown field {tag >> 3}"
        value, at = _varint(data, at)
        if tag & 7 == _VARINT:
            yield Piece(data[start:at], f"{name} = {_number(field, value)}", depth)
            continue
        if tag & 7 != _LENGTH_DELIMITED:
            raise NotShown(f"{name}: wire type {tag & 7}")
        body = data[at : at + value]
        at += value
        if field is not None and field.message_type is not None:
            yield Piece(data[start : at - value], f"{name}: {value} bytes", depth)
            yield from message_pieces(field.message_type, body, depth + 1)
        elif field is not None and body:
            yield from _bytes(field, data[start : at - value], body, depth)
        else:
            yield Piece(data[start:at], f"{name}: {value} bytes", depth)


def _bytes(field: FieldDescriptor, head: bytes, body: bytes, depth: int) -> Iterator[Piece]:
    name = f"{field.name} ({field.number})"
    place = ".".join(field.full_name.split(".")[-2:])
    if body.isascii() and body.decode().isprintable():
        yield Piece(head + body, f'{name} = "{body.decode()}"', depth)
    elif place in _ENTRY_FIELDS and len(body) >= v1.ENTRY_METADATA.sizeof():
        yield Piece(head, f"{name}: {len(body)} bytes, the entry", depth)
        yield from entry_pieces(body, None, depth + 1)
    elif place in _LAC_FIELDS and len(body) >= v1.LAC_METADATA.sizeof():
        yield Piece(head, f"{name}: {len(body)} bytes", depth)
        yield from explicit_lac_pieces(body, depth + 1)
    elif field.name.startswith("availability") and len(body) >= entry_list.HEADER_SIZE:
        yield Piece(head, f"{name}: {len(body)} bytes, the list", depth)
        yield from pieces_of(entry_list.ENTRY_LIST, body, None, depth + 1)
    else:
        yield Piece(head, f"{name}: {len(body)} bytes", depth)
        yield Piece(body, "", depth + 1)


def _number(field: FieldDescriptor | None, value: int) -> Any:
    if field is None:
        return value
    if field.enum_type is not None and value in field.enum_type.values_by_number:
        return f"{value} {field.enum_type.values_by_number[value].name}"
    signed = field.type in (FieldDescriptor.TYPE_INT64, FieldDescriptor.TYPE_INT32)
    return value - 2**64 if signed and value >> 63 else value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at

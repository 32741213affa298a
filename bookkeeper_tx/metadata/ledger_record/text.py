"""Form 2 of ledger metadata, protobuf text: written as by Java's ``LedgerMetadataSerDe``, read as any protobuf text.

The Python protobuf library escapes strings otherwise than Java's, so the text is printed here.
"""

from typing import Any

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message as AnyMessage

from protocol_specs.metadata import ledger as spec
from protocol_specs.metadata.formats_pb2 import LedgerMetadata as Message

_PRINTABLE = range(0x20, 0x7F)
_INDENT = "  "


def parse(text: bytes) -> Message:
    """Return the message; unknown fields and comments are skipped, a missing required field is not noticed."""
    message = Message()
    try:
        text_format.Parse(text, message, allow_unknown_field=True)
    except text_format.ParseError as error:
        raise ValueError(f"it is not protobuf text: {error}") from error
    return message


def emit(message: AnyMessage) -> bytes:
    """Return the text: fields in ascending order, two spaces of indentation, a newline after each line."""
    return "".join(f"{line}\n" for line in _lines(message)).encode("ascii")


def _lines(message: AnyMessage) -> list[str]:
    lines: list[str] = []
    for field, value in message.ListFields():  # ascending by number
        for each in [value] if field.has_presence else value:
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                lines += [f"{field.name} {{", *(_INDENT + line for line in _lines(each)), "}"]
            else:
                lines.append(f"{field.name}: {_scalar(field, each)}")
    return lines


def _scalar(field: Any, value: Any) -> str:
    if field.type == FieldDescriptor.TYPE_ENUM:
        return str(field.enum_type.values_by_number[value].name)
    if field.type == FieldDescriptor.TYPE_STRING:
        return _quoted(value.encode("utf-8"))
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _quoted(value)
    return str(value)


def _quoted(value: bytes) -> str:
    return '"' + "".join(_escaped(byte) for byte in value) + '"'


def _escaped(byte: int) -> str:
    if byte in spec.TEXT_ESCAPES:
        return spec.TEXT_ESCAPES[byte].decode("ascii")
    return chr(byte) if byte in _PRINTABLE else f"\\{byte:03o}"

"""Bytes cut into the fields of their declaration, each with its meaning in words."""

from collections.abc import Iterator
from io import BytesIO
from typing import Any, NamedTuple

import construct

from protocol_specs.entry import v1, v2
from protocol_specs.entry.digest import BY_NUMBER
from protocol_specs.rendering.layout import bare, bit_fields
from protocol_specs.wire import framing, tails
from protocol_specs.wire.operations import Flag, Operation
from protocol_specs.wire.status import BY_V2_CODE


class Piece(NamedTuple):
    """A run of bytes and their meaning in words."""

    data: bytes
    words: str
    depth: int = 0


def pieces_of(declaration: Any, data: bytes, digest_size: int | None, depth: int = 0) -> Iterator[Piece]:
    """Cut ``data`` into pieces; ``digest_size`` is that of the entries in it, None if it is unknown."""
    if bit_fields(declaration) is not None:
        values = declaration.parse(data)
        yield Piece(data, ", ".join(f"{name} {value}" for name, value in values.items() if name != "_io"), depth)
        return
    stream = BytesIO(data)
    context = _context(stream)
    for field in declaration.subcons:
        start = stream.tell()
        value = context[field.name] = field._parsereport(stream, context, "")
        taken = data[start : stream.tell()]
        if taken:
            yield from _field(field.name, bare(field), taken, value, digest_size, depth)


def _context(stream: BytesIO) -> Any:
    return construct.Container(
        _=None, _params=construct.Container(), _root=None, _parsing=True, _building=False, _sizing=False, _io=stream
    )


def _field(name: str, subcon: Any, data: bytes, value: Any, digest_size: int | None, depth: int) -> Iterator[Piece]:
    if isinstance(subcon, construct.IfThenElse):
        subcon = bare(subcon.thensubcon)
    if isinstance(subcon, construct.Prefixed):
        size = bare(subcon.lengthfield).sizeof()
        yield Piece(data[:size], f"size of {name}: {len(data) - size}", depth)
        if len(data) > size:
            yield Piece(data[size:], _words(name, data[size:]), depth)
    elif isinstance(subcon, construct.Array):
        element = bare(subcon.subcon)
        for start in range(0, len(data), element.sizeof()):
            yield from pieces_of(element, data[start : start + element.sizeof()], digest_size, depth)
    elif subcon is tails.Records:
        start = 0
        for record in value:
            yield Piece(data[start : start + 4], f"length {len(record)}", depth)
            yield from entry_pieces(record, digest_size, depth + 1)
            start += 4 + len(record)
    elif name == "entry":
        yield from entry_pieces(data, digest_size, depth + 1)
    elif name in ("rest_of_entry", "rest"):
        yield from _rest_of_entry(data, digest_size, depth)
    elif name == "digest_and_payload":
        yield from _sealed(data, digest_size, depth)
    else:
        yield Piece(data, _words(name, value), depth)


def entry_pieces(data: bytes, digest_size: int | None, depth: int) -> Iterator[Piece]:
    """Cut an entry of either format; one of format V2 names its digest type itself."""
    if not data[0] & v2.NOT_V1:
        yield from pieces_of(v1.ENTRY, data, digest_size, depth)
        return
    yield from pieces_of(v2.ENTRY, data, BY_NUMBER[data[0] & v2.DIGEST_MASK].size, depth)


def explicit_lac_pieces(data: bytes, depth: int) -> Iterator[Piece]:
    """Cut an explicit last add confirmed of either format."""
    kind = v2.LAC_METADATA if data[0] & v2.NOT_V1 else v1.LAC_METADATA
    size = kind.sizeof()
    yield from pieces_of(kind, data[:size], None, depth)
    if data[size:]:
        yield Piece(data[size:], "digest", depth)


def _rest_of_entry(data: bytes, digest_size: int | None, depth: int) -> Iterator[Piece]:
    """Cut the bytes after the ids of an entry; a bad request may have too few of them."""
    if len(data) < 16:
        yield Piece(data, "the rest of the entry", depth)
        return
    yield from pieces_of(construct.Struct(*v1.ENTRY.subcons[2:]), data, digest_size, depth)


def _sealed(data: bytes, digest_size: int | None, depth: int) -> Iterator[Piece]:
    if digest_size is None:
        yield Piece(data, "digest and payload", depth)
        return
    if digest_size:
        yield Piece(data[:digest_size], "digest", depth)
    if data[digest_size:]:
        yield Piece(data[digest_size:], _words("payload", data[digest_size:]), depth)


def _words(name: str, value: Any) -> str:
    label = name.replace("_", " ")
    if isinstance(value, bytes):
        printable = value.isascii() and value.decode("ascii", "replace").isprintable()
        return f'{label} "{value.decode()}"' if printable and value else label
    if name == "header":
        return header_words(value)
    if name == "status" and value in BY_V2_CODE:
        return f"{label} {value}: {BY_V2_CODE[value].name}"
    if name == "flags":
        return f"{label} {value:#04x}"
    if name in ("kind", "mask"):
        return f"{label} {'-' if value < 0 else ''}{abs(value):#x}"
    return f"{label} {value}"


def header_words(header: int) -> str:
    """Return the parts of a V2 packet header in words."""
    version, operation, flags = framing.split_header(header)
    known = operation in list(Operation)
    name = Operation(operation).name.lower().replace("_", " ") if known else "unknown"
    bits = [flag.name.lower().replace("_", " ") for flag in Flag if flags & flag and flag.name]
    return f"version {version}, operation {operation} ({name}), flags {flags}" + (
        f": {', '.join(bits)}" if bits else ""
    )

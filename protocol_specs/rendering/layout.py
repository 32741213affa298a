"""A declaration as rows: one for each field, with offset, size, type and meaning."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

import construct

from protocol_specs import fields
from protocol_specs.wire import tails

_INTEGERS = {"B": "uint8", "b": "int8", "L": "uint32", "l": "int32", "Q": "uint64", "q": "int64"}
_VARIABLE = "nmpqrstu"


class Row(NamedTuple):
    """One field of a declaration."""

    name: str
    offset: str
    """In bytes from the start, or in bits from the right for a field of bits."""
    size: str
    type: str
    meaning: str
    bytes: int | None
    """The size of a field of fixed size, else None."""


def declaration_of(spec: str) -> Any:
    """Return the declaration that ``spec`` names, as in ``wire/v2.READ_REQUEST_FRAME``."""
    module, _, path = spec.partition(".")
    found: Any = import_module("protocol_specs." + module.replace("/", "."))
    for name in path.split("."):
        found = getattr(found, name)
    return found


def bare(named: Any) -> Any:
    """Return a construct without its names and texts."""
    while isinstance(named, construct.Renamed):
        named = named.subcon
    return named


def bit_fields(declaration: Any) -> list[Any] | None:
    """Return the fields of a BitStruct, None for anything else."""
    if isinstance(declaration, construct.Transformed | construct.Restreamed):
        return list(declaration.subcon.subcons)
    return None


def rows_of(declaration: Any) -> list[Row]:
    """Return the rows of a Struct or a BitStruct."""
    bits = bit_fields(declaration)
    return _bit_rows(bits) if bits is not None else _byte_rows(declaration)


def _bit_rows(bits: list[Any]) -> list[Row]:
    rows, above = [], sum(bare(field).length for field in bits)
    for field in bits:
        size = bare(field).length
        rows.append(Row(field.name, f"{above - 1}-{above - size}", str(size), "bits", field.docs, size // 8))
        above -= size
    return rows


def _byte_rows(declaration: Any) -> list[Row]:
    rows: list[Row] = []
    unknown: list[str] = []
    offset, letters = 0, iter(_VARIABLE)
    for field in declaration.subcons:
        for name, size, kind in _parts(field.name, bare(field)):
            meaning = field.docs if name == field.name else "bytes that follow"
            where = " + ".join([str(offset), *unknown])
            letter = "" if size is not None else "rest" if _takes_rest(kind) else next(letters)
            rows.append(Row(name, where, letter or str(size), kind, meaning, size))
            offset += size or 0
            if letter:
                unknown.append(letter)
    return rows


def _takes_rest(kind: str) -> bool:
    return kind in ("bytes", "records", "ignored") or kind.startswith("bytes,")


def _parts(name: str, subcon: Any) -> Iterator[tuple[str, int | None, str]]:
    """Yield name, size and type of each part of a field on the wire; a prefixed field has two parts."""
    if isinstance(subcon, construct.IfThenElse):
        subcon = bare(subcon.thensubcon)
    if isinstance(subcon, construct.Prefixed):
        length = bare(subcon.lengthfield)
        yield f"size of {name}", length.sizeof(), _integer(length)
        yield name, None, "that many bytes"
    else:
        yield name, *_form(subcon)


def _form(subcon: Any) -> tuple[int | None, str]:
    if isinstance(subcon, construct.Const):
        return _form(bare(subcon.subcon))
    if isinstance(subcon, construct.FormatField):
        return subcon.sizeof(), _integer(subcon)
    if isinstance(subcon, construct.Bytes):
        return subcon.sizeof(), f"bytes[{subcon.sizeof()}]"
    if subcon is tails.KeyIfFencing:
        return None, f"bytes, {fields.MASTER_KEY_SIZE} or none"
    if subcon is tails.Records:
        return None, "records"
    if subcon is tails.Ignored:
        return None, "ignored"
    if isinstance(subcon, construct.Array):
        return None, f"{bare(subcon.subcon).sizeof()} bytes each"
    if isinstance(subcon, construct.NullTerminated):
        return None, f"text up to {subcon.term.decode()!r}"
    return None, "bytes"


def _integer(subcon: Any) -> str:
    return _INTEGERS[subcon.fmtstr[1]]

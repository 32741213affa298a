"""Fast codecs, derived from construct declarations at import.

A declaration that is *a run of fixed big-endian fields and at most one tail* gives a :class:`Codec`; any other form is
an error at import.  Interpreted construct costs 9 to 39 µs a frame, a derived codec a tenth of one.
"""

import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import construct

from protocol_specs import fields
from protocol_specs.forms import LengthFirst
from protocol_specs.wire import tails


class Malformed(ValueError):
    """Bytes that break their declaration: says which one, in which field, at which offset."""

    def __init__(self, spec: str, field: str, offset: int, reason: str) -> None:
        super().__init__(f"malformed {spec}: {reason} (field {field}, offset {offset})")
        self.spec = spec
        self.field = field
        self.offset = offset
        self.reason = reason


class UnsupportedForm(TypeError):
    """A declaration that no codec can be derived from."""


def _bare(spec: str, named: construct.Construct) -> tuple[str, construct.Construct]:
    """Return name and construct of one field; raise UnsupportedForm if it has no name, or a hook into parsing."""
    name, subcon = named.name, named
    while isinstance(subcon, construct.Renamed):
        if subcon.parsed is not None:
            raise UnsupportedForm(f"{spec}.{name}: a field with a parsed hook")
        subcon = subcon.subcon
    if not name:
        raise UnsupportedForm(f"{spec}: {subcon!r} has no name")
    return name, subcon


def _fixed_format(spec: str, field: str, subcon: construct.Construct) -> str:
    if isinstance(subcon, construct.FormatField) and subcon.fmtstr[0] == ">":
        return str(subcon.fmtstr[1:])
    if isinstance(subcon, construct.Bytes) and isinstance(subcon.length, int):
        return f"{subcon.length}s"
    raise UnsupportedForm(f"{spec}.{field}: no codec can be derived from {subcon!r}")


class Codec:
    """The fast codec of one declaration.

    ``unpack_fixed(buffer, offset)``, ``iter_fixed(buffer)`` and ``pack_fixed(*values)`` are the bare loops over the
    fixed part, for code that has checked the bounds and the sizes of byte fields (a short one would be padded in
    silence); :meth:`unpack_from` and :meth:`pack` check them and do the tail as well.
    """

    def __init__(self, name: str, declaration: construct.Struct) -> None:
        self.name = name
        self.declaration = declaration
        self.fields: tuple[str, ...] = ()
        self.tail: construct.Construct | None = None
        self.tail_name = ""
        layout = ">"
        for named in declaration.subcons:
            field, subcon = _bare(name, named)
            if self.tail is not None:
                raise UnsupportedForm(f"{name}.{field}: only the last field may be of variable size")
            if field in self.fields:
                raise UnsupportedForm(f"{name}.{field}: declared twice")
            if subcon in tails.TAILS:
                self.tail, self.tail_name = subcon, field
            else:
                layout += _fixed_format(name, field, subcon)
                self.fields += (field,)
        if self.tail is tails.KeyIfFencing and "header" not in self.fields:
            raise UnsupportedForm(f"{name}.{self.tail_name}: a key depends on a field named header")
        self._struct = struct.Struct(layout)
        self.size = self._struct.size
        self.offsets = self._field_offsets()
        self.pack_fixed = self._struct.pack
        self.unpack_fixed = self._struct.unpack_from
        self.iter_fixed = self._struct.iter_unpack
        self._length_size = self._size_of_length()
        self._header_index = self.fields.index("header") if "header" in self.fields else -1
        self._byte_fields = tuple(
            (index, subcon.sizeof())
            for index, subcon in enumerate(_bare(name, named)[1] for named in declaration.subcons)
            if isinstance(subcon, construct.Bytes)
        )

    def _field_offsets(self) -> dict[str, int]:
        offsets, position = {}, 0
        for field, subcon in zip(self.fields, self.declaration.subcons, strict=False):
            offsets[field] = position
            position += subcon.sizeof()
        if position != self.size:
            raise UnsupportedForm(f"{self.name}: derived size {self.size} is not the declared {position}")
        return offsets

    def _size_of_length(self) -> int:
        """Return the size of the first field if it counts the bytes after it, else 0."""
        if not isinstance(self.declaration, LengthFirst):
            return 0
        if not self.fields or not isinstance(_bare(self.name, self.declaration.subcons[0])[1], construct.FormatField):
            raise UnsupportedForm(f"{self.name}: the first field is to be a length")
        return int(self.declaration.subcons[0].sizeof())

    def unpack_from(self, buffer: Any, offset: int = 0, end: int | None = None) -> tuple[Any, ...]:
        """Return the values of the fields, and of the tail if there is one, of the message in ``buffer[offset:end]``.

        A message that starts with its length ends after that many bytes.  Raises :class:`Malformed` when the bytes do
        not hold the message.
        """
        size = len(buffer)
        if end is None:
            end = size
        if end > size or end - offset < self.size:
            raise self._cut_short(offset, min(end, size), max(self.size, end - offset))
        values = self.unpack_fixed(buffer, offset)
        if self._length_size:
            end = self._end_by_length(values[0], offset, end)
        if self.tail is None:
            return values
        return (*values, self._unpack_tail(values, buffer, offset + self.size, end))

    def pack(self, *values: Any) -> bytes:
        """Return the bytes of the message with these values; the last is the tail, left out at will if it is ignored.

        Raises ValueError for a byte field of the wrong size and for a tail that the declaration would not build.
        """
        if self.tail is None or (self.tail is tails.Ignored and len(values) == len(self.fields)):
            return self._pack_head(values)
        head, tail = self._pack_head(values[:-1]), values[-1]
        if self.tail is tails.Ignored:
            return head
        if self.tail is tails.Records:
            return head + b"".join(fields.record_length.build(len(record)) + bytes(record) for record in tail)
        if self.tail is tails.KeyIfFencing and (wrong := tails.KeyIfFencing.wrong(values[self._header_index], tail)):
            raise ValueError(f"{self.name}.{self.tail_name}: {wrong}")
        return head + bytes(tail or b"")

    def _pack_head(self, values: tuple[Any, ...]) -> bytes:
        if len(values) != len(self.fields):
            raise ValueError(f"{self.name} has {len(self.fields)} fields, not {len(values)}")
        for index, size in self._byte_fields:
            if len(values[index]) != size:
                raise ValueError(f"{self.name}.{self.fields[index]} has {size} bytes, not {len(values[index])}")
        return self._struct.pack(*values)

    def _end_by_length(self, length: int, offset: int, available: int) -> int:
        end = offset + self._length_size + length
        if length < 0 or end > available:
            raise Malformed(
                self.name, self.fields[0], offset, f"length {length} overruns the {available - offset} bytes"
            )
        if end - offset < self.size:
            raise self._cut_short(offset, end, self.size)
        return end

    def _cut_short(self, offset: int, end: int, needed: int) -> Malformed:
        return Malformed(self.name, self._field_at(end - offset), end, f"needs {needed} bytes, has {end - offset}")

    def _unpack_tail(self, values: tuple[Any, ...], buffer: Any, start: int, end: int) -> Any:
        if self.tail is tails.Ignored:
            return None
        if self.tail is tails.KeyIfFencing:
            return self._unpack_key(values[self._header_index], buffer, start, end)
        if self.tail is tails.Records:
            return [
                bytes(buffer[at + 4 : after]) for at, after in pairwise(record_offsets(self.name, buffer, start, end))
            ]
        return bytes(buffer[start:end])

    def _unpack_key(self, header: int, buffer: Any, start: int, end: int) -> bytes | None:
        if not tails.KeyIfFencing.expected(header):
            return None
        if end - start < fields.MASTER_KEY_SIZE:
            raise Malformed(self.name, self.tail_name, start, "fencing request without its master key")
        return bytes(buffer[start : start + fields.MASTER_KEY_SIZE])

    def _field_at(self, available: int) -> str:
        """Return the name of the field that holds the byte at offset ``available``."""
        if available >= self.size:
            return self.tail_name or self.fields[-1]
        return max(((at, field) for field, at in self.offsets.items() if at <= max(available, 0)), default=(0, ""))[1]


RECORD_LENGTH = Codec("record length", construct.Struct("length" / fields.record_length))
_record_length = RECORD_LENGTH.unpack_fixed


def record_offsets(name: str, buffer: bytes, start: int, end: int) -> Sequence[int]:
    """Return where each ``[length][bytes]`` record of ``buffer[start:end]`` starts, and ``end`` last.

    Raises :class:`Malformed` for a negative length and for one that overruns.
    """
    if end - start >= 4:
        stride = 4 + _record_length(buffer, start)[0]
        if stride >= 4 and (end - start) % stride == 0:
            # Records of one size: their length words are equal, seen a byte column at a time.
            columns = (bytes(buffer[start + j : end : stride]) for j in range(4))
            if all(column == column[:1] * len(column) for column in columns):
                return range(start, end + 1, stride)
    offsets = [start]
    append = offsets.append
    at = start
    while at < end:
        if end - at < 4:
            raise Malformed(name, "length", at, "record length cut short")
        length = _record_length(buffer, at)[0]
        at += 4 + length
        if length < 0 or at > end:
            raise Malformed(name, "length", at - 4 - length, f"record of {length} bytes overruns the message")
        append(at)
    return offsets


def derive(name: str, declaration: construct.Struct) -> Codec:
    """Derive the fast codec of ``declaration``; errors call it ``name``."""
    return Codec(name, declaration)


def leading(declaration: construct.Struct, before: str) -> construct.Struct:
    """Return the fields of ``declaration`` that come before the field ``before``."""
    names = [subcon.name for subcon in declaration.subcons]
    return construct.Struct(*declaration.subcons[: names.index(before)])

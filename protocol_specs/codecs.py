"""Fast codecs, derived from construct declarations at import.

A declaration that is *a run of fixed big-endian fields and at most one tail* gives a :class:`Codec`; any other form is
an error at import.  Interpreted construct costs 9 to 39 µs a frame, a derived codec a tenth of one.
"""

import struct
from typing import Any

import construct

from protocol_specs import fields, tails


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


def _fixed_format(spec: str, field: str, subcon: construct.Construct) -> str:
    if isinstance(subcon, construct.FormatField) and subcon.fmtstr[0] == ">":
        return str(subcon.fmtstr[1:])
    if isinstance(subcon, construct.Bytes) and isinstance(subcon.length, int):
        return f"{subcon.length}s"
    raise UnsupportedForm(f"{spec}.{field}: no codec can be derived from {subcon!r}")


class Codec:
    """The fast codec of one declaration.

    ``unpack_fixed(buffer, offset)`` and ``iter_fixed(buffer)`` are the bare loops over the fixed part for code that has
    checked the bounds; :meth:`unpack_from` checks them and gives the tail as well.
    """

    def __init__(self, name: str, declaration: construct.Struct) -> None:
        self.name = name
        self.declaration = declaration
        self.fields: tuple[str, ...] = ()
        self.tail: construct.Construct | None = None
        self.tail_name = ""
        layout = ">"
        for renamed in declaration.subcons:
            if self.tail is not None:
                raise UnsupportedForm(f"{name}.{renamed.name}: only the last field may be of variable size")
            subcon = renamed.subcon
            if subcon in tails.TAILS:
                self.tail, self.tail_name = subcon, renamed.name
            else:
                layout += _fixed_format(name, renamed.name, subcon)
                self.fields += (renamed.name,)
        self._struct = struct.Struct(layout)
        self.size = self._struct.size
        self.offsets = self._field_offsets(layout)
        self.pack_fixed = self._struct.pack
        self.unpack_fixed = self._struct.unpack_from
        self.iter_fixed = self._struct.iter_unpack
        self._header_index = self.fields.index("header") if "header" in self.fields else -1

    def _field_offsets(self, layout: str) -> dict[str, int]:
        offsets, position = {}, 0
        for field, subcon in zip(self.fields, self.declaration.subcons, strict=False):
            offsets[field] = position
            position += subcon.sizeof()
        if position != self.size:
            raise UnsupportedForm(f"{self.name}: derived size {self.size} is not the declared {position}")
        return offsets

    def unpack_from(self, buffer: Any, offset: int = 0, end: int | None = None) -> tuple[Any, ...]:
        """Return the values of the fields, and of the tail if there is one, of the message in ``buffer[offset:end]``.

        Raises :class:`Malformed` when the bytes do not hold the message.
        """
        end = len(buffer) if end is None else end
        if end - offset < self.size:
            raise Malformed(self.name, self._field_at(end - offset), end, f"needs {self.size} bytes, has {end - offset}")
        values = self.unpack_fixed(buffer, offset)
        if self.tail is None:
            return values
        return (*values, self._unpack_tail(values, buffer, offset + self.size, end))

    def pack(self, *values: Any) -> bytes:
        """Return the bytes of the message with these values, the tail's last."""
        if self.tail is None or self.tail is tails.IGNORED:
            return self._struct.pack(*values[: len(self.fields)])
        fixed, tail = values[:-1], values[-1]
        head = self._struct.pack(*fixed)
        if self.tail is tails.Records:
            return head + b"".join(fields.record_length.build(len(record)) + bytes(record) for record in tail)
        return head + bytes(tail or b"")

    def _unpack_tail(self, values: tuple[Any, ...], buffer: Any, start: int, end: int) -> Any:
        if self.tail is tails.IGNORED:
            return None
        if self.tail is tails.KeyIfFencing:
            return self._unpack_key(values[self._header_index], buffer, start, end)
        if self.tail is tails.Records:
            offsets = record_offsets(self.name, buffer, start, end)
            return [bytes(buffer[at + 4 : after]) for at, after in zip(offsets, offsets[1:], strict=False)]
        return bytes(buffer[start:end])

    def _unpack_key(self, header: int, buffer: Any, start: int, end: int) -> bytes | None:
        if not tails.KeyIfFencing.expected(header):
            return None
        if end - start < fields.MASTER_KEY_SIZE:
            raise Malformed(self.name, self.tail_name, start, "fencing request without its master key")
        return bytes(buffer[start : start + fields.MASTER_KEY_SIZE])

    def _field_at(self, available: int) -> str:
        return max((at, field) for field, at in self.offsets.items() if at <= max(available, 0))[1]


RECORD_LENGTH = Codec("record length", construct.Struct("length" / fields.record_length))
_record_length = RECORD_LENGTH.unpack_fixed


def record_offsets(name: str, buffer: Any, start: int, end: int) -> list[int]:
    """Return where each ``[length][bytes]`` record of ``buffer[start:end]`` starts, and ``end`` last.

    Raises :class:`Malformed` for a negative length and for one that overruns.
    """
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
    """Derive the fast codec of ``declaration``; ``name`` is what errors call it."""
    return Codec(name, declaration)


def leading(declaration: construct.Struct, before: str) -> construct.Struct:
    """Return the fields of ``declaration`` that come before the field ``before``."""
    names = [subcon.name for subcon in declaration.subcons]
    return construct.Struct(*declaration.subcons[: names.index(before)])

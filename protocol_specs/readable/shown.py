"""The shown form of bytes: fields, the frames that they make up, and the places where bytes break their declaration."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from attrs import frozen

from protocol_specs.codecs import Malformed

Direction: TypeAlias = Literal["request", "response"]
Value: TypeAlias = int | str | bytes | None


@frozen
class Field:
    """One field; a field of several parts has no value of its own."""

    name: str
    offset: int
    """Of its first byte, among the bytes of this direction; after a hole in a capture they are counted from 0 again."""
    size: int
    """In bytes; of a V3 field with its tag and its length."""
    value: Value
    meaning: str = ""
    """What the value means, for people; empty if the value says it."""
    parts: tuple["Field", ...] = ()


@frozen
class Broken:
    """Where bytes break their declaration: which one, in which field, at which offset, and why."""

    spec: str
    field: str
    offset: int
    reason: str
    ends: bool = True
    """Whether nothing after this can be read; False if the frame is whole and only its content is damaged."""

    def __str__(self) -> str:
        return f"malformed {self.spec}: {self.reason} (field {self.field}, offset {self.offset})"


@frozen
class Frame:
    """One frame as far as it can be read."""

    offset: int
    size: int
    """In bytes with the length word; less than the frame claims where the bytes end before it does."""
    direction: Direction
    dialect: str
    """The protocol version, ``V2`` or ``V3``; empty if even that is unknown."""
    operation: str
    fields: tuple[Field, ...]
    broken: Broken | None = None


@frozen
class Note:
    """A remark between frames."""

    offset: int
    text: str
    failed: bool = False
    """Whether bytes are missing that should have been shown."""


Item: TypeAlias = Frame | Note

UNREADABLE = "unreadable"
"""The name of the field that holds the bytes after the last field that could be read."""


class Sheet:
    """Fields of ``data`` in the order they are read; those read are kept when the bytes break off."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.fields: list[Field] = []

    def add(self, name: str, offset: int, size: int, value: Value, meaning: str = "") -> None:
        """Add a field without parts."""
        self.fields.append(Field(name, offset, size, value, meaning))

    @contextmanager
    def part(self, name: str, offset: int, size: int, meaning: str = "") -> "Iterator[Sheet]":
        """Add a field whose parts are read inside the ``with`` block."""
        inner = Sheet(self.data)
        try:
            yield inner
        except Malformed as error:
            inner.add_unreadable(error, offset + size)
            raise
        finally:
            self.fields.append(Field(name, offset, size, None, meaning, tuple(inner.fields)))

    def add_unreadable(self, error: Malformed, end: int) -> None:
        """Add the bytes after the last field, up to ``end``, which cannot be read because of ``error``."""
        last = self.fields[-1] if self.fields else None
        start = last.offset + last.size if last is not None else error.offset
        if start < end:
            self.add(UNREADABLE, start, end - start, self.data[start:end])


def broken_by(error: Malformed, ends: bool = True) -> Broken:
    """Return the place and the reason that ``error`` names."""
    return Broken(error.spec, error.field, error.offset, error.reason, ends)


def as_dictionary(item: Item) -> dict[str, Any]:
    """Return ``item`` as JSON shows it; byte strings are in hexadecimal."""
    if isinstance(item, Note):
        return {"offset": item.offset, "note": item.text}
    shown: dict[str, Any] = {
        "offset": item.offset,
        "size": item.size,
        "direction": item.direction,
        "dialect": item.dialect or None,
        "operation": item.operation or None,
        "fields": [_field(each) for each in item.fields],
    }
    if item.broken is not None:
        shown["malformed"] = {
            "spec": item.broken.spec,
            "field": item.broken.field,
            "offset": item.broken.offset,
            "reason": item.broken.reason,
        }
    return shown


def _field(field: Field) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": field.name, "offset": field.offset, "size": field.size}
    if field.parts or field.value is None:
        shown["parts"] = [_field(each) for each in field.parts]
    else:
        shown["value"] = field.value.hex() if isinstance(field.value, bytes) else field.value
    if field.meaning:
        shown["meaning"] = field.meaning
    return shown

"""Fixed fields, in the order of their declaration, as far as there are bytes."""

from collections.abc import Callable, Mapping
from typing import Any

from protocol_specs.codecs import Codec, Malformed
from protocol_specs.readable.shown import Sheet


def read_fixed(
    sheet: Sheet, codec: Codec, data: bytes, start: int, end: int, say: Mapping[str, Callable[[Any], str]]
) -> dict[str, Any]:
    """Read the fixed fields of ``codec`` into ``sheet`` as far as there are bytes, and return their values.

    Raises :class:`Malformed` for the field that is cut short.
    """
    values: dict[str, Any] = {}
    for (name, at), subcon in zip(codec.offsets.items(), codec.declaration.subcons, strict=False):
        size, offset = subcon.sizeof(), start + at
        if offset + size > end:
            raise Malformed(codec.name, name, offset, f"needs {size} bytes, has {max(end - offset, 0)}")
        value = values[name] = subcon.parse(data[offset : offset + size])
        sheet.add(name, offset, size, value, say[name](value) if name in say else "")
    return values

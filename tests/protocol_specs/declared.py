"""The declarations that codecs are derived from, and how to read and build them both ways."""

from types import ModuleType
from typing import Any

import construct
from hypothesis import strategies as st

from protocol_specs import codecs
from protocol_specs.codecs import Codec
from protocol_specs.entry import v1
from protocol_specs.entry import v2 as entry_v2
from protocol_specs.forms import LengthFirst
from protocol_specs.wire import framing, tails, v2


def _structs(*modules: ModuleType) -> dict[str, construct.Struct]:
    return {
        f"{module.__name__}.{name}": value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, construct.Struct)
    }


CODECS = [codecs.derive(name, struct) for name, struct in _structs(framing, v2, v1, entry_v2).items()]


def interpreted(codec: Codec, data: bytes) -> tuple[Any, ...] | None:
    """Return what construct itself reads, as the codec would give it, or None if it refuses."""
    try:
        read = codec.declaration.parse(data)
    except construct.ConstructError:
        return None
    names = (*codec.fields, codec.tail_name) if codec.tail is not None else codec.fields
    return tuple(list(read[name]) if isinstance(read[name], list) else read[name] for name in names)


def derived(codec: Codec, data: bytes) -> tuple[Any, ...] | None:
    """Return what the derived codec reads, or None if it refuses."""
    try:
        return codec.unpack_from(data)
    except codecs.Malformed:
        return None


def _field(subcon: construct.Construct) -> st.SearchStrategy[Any]:
    while isinstance(subcon, construct.Renamed):
        subcon = subcon.subcon
    if isinstance(subcon, construct.Bytes):
        return st.binary(min_size=subcon.length, max_size=subcon.length)
    bits = 8 * subcon.sizeof()
    if subcon.fmtstr[1].islower():
        return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
    return st.integers(0, (1 << bits) - 1)


def headers() -> st.SearchStrategy[int]:
    """Packet headers, fencing ones of every version among them as often as not."""
    fencing = st.builds(
        framing.join_header, st.integers(1, 255), st.sampled_from([2, 7]), st.sampled_from([1, 5, 0xFFFF])
    )
    return st.one_of(fencing, st.integers(0, 2**32 - 1))


@st.composite
def messages(draw: st.DrawFn, codec: Codec) -> bytes:
    """Bytes of a message: its fields, its tail and, where there is one, the length that fits."""
    values: dict[str, Any] = {}
    for name, named in zip(codec.fields, codec.declaration.subcons, strict=False):
        values[name] = draw(headers() if name == "header" else _field(named.subcon))
    tail = b""
    if codec.tail is tails.Records:
        tail = tails.Records.build(draw(st.lists(st.binary(max_size=20), max_size=4)))
    elif codec.tail is tails.KeyIfFencing:
        needed = 20 if tails.KeyIfFencing.expected(values["header"]) else 0
        tail = draw(st.binary(min_size=needed, max_size=30))
    elif codec.tail is not None:
        tail = draw(st.binary(max_size=30))
    if isinstance(codec.declaration, LengthFirst):
        first = codec.fields[0]
        values[first] = codec.size + len(tail) - codec.declaration.subcons[0].sizeof()
    return bytes(codec.pack_fixed(*values.values())) + tail

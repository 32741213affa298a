"""A construct declaration as a type of Kaitai Struct."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import construct

from protocol_specs import fields
from protocol_specs.wire import framing, tails
from protocol_specs.wire.operations import Flag

Attribute: TypeAlias = dict[str, Any]
Type: TypeAlias = dict[str, Any]

INTEGERS = {"B": "u1", "b": "s1", "L": "u4", "l": "s4", "Q": "u8", "q": "s8"}

HAS_KEY = (
    f"(header & {Flag.FENCING.value}) != 0 and (header >> 24) >= {framing.VERSION_WITH_KEY}"
    f" and (header >> 24) < {framing.VERSION_SIGN:#x}"
)
"""When a V2 request carries a master key."""


def type_of(subcons: Iterable[Any], doc: str = "", repeated: Mapping[str, str] | None = None) -> Type:
    """Return the type of a run of fields.

    ``repeated`` names, by field, the type of the elements of an array, or of records after their lengths.
    """
    made: Type = {"doc": doc} if doc else {}
    made["seq"] = []
    for subcon in subcons:
        made["seq"].append(_attribute(subcon, repeated or {}))
        if _bare(subcon) is tails.KeyIfFencing:
            made["instances"] = {"has_key": {"value": HAS_KEY}}
    return made


def _attribute(named: Any, repeated: Mapping[str, str]) -> Attribute:
    name, subcon = named.name, _bare(named)
    made: Attribute = {"id": name, **_form(subcon)}
    if isinstance(subcon, construct.Array):
        count = "".join(str(subcon.count).partition("this.")[2]) or "count"
        made |= {"type": repeated[name], "repeat": "expr", "repeat-expr": count.strip("()[]'\"")}
    elif subcon is tails.Records:
        made |= {"type": repeated[name], "repeat": "eos"}
    if named.docs:
        made["doc"] = named.docs
    return made


def _form(subcon: Any) -> Attribute:
    if isinstance(subcon, construct.FormatField):
        return {"type": INTEGERS[subcon.fmtstr[1]]}
    if isinstance(subcon, construct.Bytes):
        return {"size": subcon.sizeof()}
    if isinstance(subcon, construct.Const):
        if isinstance(subcon.value, bytes):
            return {"contents": list(subcon.value)}
        return {**_form(_bare(subcon.subcon)), "valid": subcon.value}
    if subcon is tails.KeyIfFencing:
        return {"size": fields.MASTER_KEY_SIZE, "if": "has_key"}
    if subcon in (tails.Rest, tails.Ignored):
        return {"size-eos": True}
    if isinstance(subcon, construct.Array) or subcon is tails.Records:
        return {}
    raise TypeError(f"{subcon!r} has no form in Kaitai Struct here")


def _bare(subcon: Any) -> Any:
    while isinstance(subcon, construct.Renamed):
        subcon = subcon.subcon
    return subcon

"""The recipes of inputs, from which their JSON is made."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from protocol_specs import codecs

_LENGTH = codecs.RECORD_LENGTH

CLOSED: Mapping[str, str] = {"connection": "closed"}
WAITS: Mapping[str, str] = {"connection": "waits"}
ANY: Mapping[str, str] = {"connection": "any"}


def status_reply(status: str) -> Mapping[str, str]:
    """The connection stays, and the reply has this status."""
    return {"connection": "open", "status": status}


@frozen
class Recipe:
    """One input; ``streams`` is its rule."""

    name: str
    about: str
    streams: Mapping[str, Any]
    expect: Mapping[str, str] = CLOSED
    dialect: str = "any"


@frozen
class RecipeClass:
    """Inputs that are wrong in the same way; ``name`` is that of the file."""

    name: str
    about: str
    recipes: Sequence[Recipe]


def with_length(body: bytes) -> bytes:
    """The body after its length."""
    return _LENGTH.pack_fixed(len(body)) + body


def one(data: bytes) -> Mapping[str, Any]:
    """One stream of these bytes."""
    return {"hex": data.hex()}


def frame(body: bytes) -> Mapping[str, Any]:
    """One stream: one frame."""
    return one(with_length(body))


def each(bodies: Sequence[bytes]) -> Mapping[str, Any]:
    """A stream of one frame for each body."""
    return {"each": [with_length(body).hex() for body in bodies]}


def prefixes(body: bytes, first: int = 0, last: int | None = None, *, without: Sequence[int] = ()) -> Mapping[str, Any]:
    """A frame for each beginning of ``body``, from ``first`` to ``last`` bytes, by default all but the whole."""
    lengths = [first, len(body) - 1 if last is None else last]
    return {"prefixes": {"of": body.hex(), "lengths": lengths, "except": list(without)}}


def long_frame(start: bytes, repeated: bytes, times: int, end: bytes = b"") -> Mapping[str, Any]:
    """One stream: a frame with something repeated in it."""
    length = _LENGTH.pack_fixed(len(start) + len(repeated) * times + len(end))
    parts: list[Mapping[str, Any]] = [{"hex": (length + start).hex()}, {"repeat": repeated.hex(), "times": times}]
    return {"parts": [*parts, {"hex": end.hex()}] if end else parts}

"""Where a read of ledgers starts and ends: the options ``startingOffsets`` and ``endingOffsets``."""

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

from attrs import field, frozen

from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.spark.options.option import Kind, parse_ledger_id


class Edge(Enum):
    """An offset that is known only when a ledger is looked at."""

    EARLIEST = "earliest"
    """The first entry, 0."""
    LATEST = "latest"
    """One after the last entry: for a closed ledger its last entry, for an open one its last add confirmed."""


Offset = int | Edge
"""An entry id, or an edge.  As a start it is the first entry read, as an end the first that is not."""


@frozen
class Offsets:
    """An offset for each ledger."""

    default: Edge
    """For ledgers that are not named."""
    of_ledger: Mapping[int, Offset] = field(factory=dict)

    def of(self, ledger_id: int) -> Offset:
        return self.of_ledger.get(int(ledger_id), self.default)

    def resolved(self, ledger_id: int, end: int) -> int:
        """Return the offset as an entry id; ``end`` is the id after the ledger's last entry."""
        offset = self.of(ledger_id)
        if isinstance(offset, Edge):
            return 0 if offset is Edge.EARLIEST else end
        return offset


FORM = '`earliest`, `latest`, or JSON such as `{"7": 100, "8": "earliest"}`'


def parse_offsets(text: str, default: Edge = Edge.EARLIEST) -> Offsets:
    """Return the offsets of ``earliest``, ``latest`` or JSON; ``default`` is for ledgers that JSON does not name.

    Raises ValueError with a text for the user.
    """
    word = text.strip().lower()
    if word in (Edge.EARLIEST.value, Edge.LATEST.value):
        return Offsets(Edge(word))
    try:
        found = json.loads(text, object_pairs_hook=no_key_twice)
    except json.JSONDecodeError:
        raise ValueError("it is neither a word that is known nor JSON") from None
    if not isinstance(found, dict) or not found:
        raise ValueError("the JSON must be an object of ledger ids and offsets")
    return Offsets(default, {ledger_of(key): _offset(key, value) for key, value in found.items()})


def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of a JSON object; raises ValueError if two have one name."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a ledger is named twice")
    return found


def ledger_of(key: str) -> int:
    """Return the ledger that a key of JSON names; raises ValueError."""
    try:
        return int(parse_ledger_id(key))
    except InvalidArgument as error:
        raise ValueError(str(error)) from None


def _offset(key: str, value: Any) -> Offset:
    if isinstance(value, str) and value.lower() in (Edge.EARLIEST.value, Edge.LATEST.value):
        return Edge(value.lower())
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise ValueError(f"the offset of ledger {key}, {value!r}, is no entry id; write 0 or more, earliest or latest")
    return value


STARTS = Kind(FORM, parse_offsets)
ENDS = Kind(FORM, lambda text: parse_offsets(text, Edge.LATEST))

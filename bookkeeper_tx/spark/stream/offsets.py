"""How far a stream of ledgers has come: the offset that Spark writes into the checkpoint.

Each offset has exactly one JSON text, because Spark compares the texts:

    {"closed":{"7":1000},"closedThrough":6,"open":{"9":250},"unread":"3,1","v":2}

* ``open``: ledgers that were begun, by id, each with its next entry.
* ``closed``: ledgers whose last entry lies right before this offset, each with its number of entries.  The next offset
  has them among the finished ones.  With them, the rows between two offsets follow from the two alone.
* ``closedThrough``: the highest id of the finished ledgers, -1 if there is none.  All ids up to it are finished, and
  never read again, except for those in ``open``, ``closed`` and ``unread``.
* ``unread``: ids up to ``closedThrough`` of which nothing was read, most of them of ledgers that do not exist: a ledger
  that appears there late is read from its first entry, as are those after ``closedThrough``.  They are 3 and 5 above,
  written as steps (:attr:`IdRanges.steps`), so that a gap takes some 4 characters and not twice the length of an id.
* ``v``: version of this form.  In version 1 ``unread`` was ids and ranges of ids, ``"3,5"``; it is read, and no longer
  written.
"""

from collections.abc import Callable, Mapping
from typing import Any

from attrs import field, frozen

from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.spark.options.id_ranges import NO_IDS, IdRanges

VERSION = 2
_KEYS = ("closed", "closedThrough", "open", "unread", "v")

_READ: Mapping[int, Callable[[str], IdRanges]] = {1: IdRanges.of_text, 2: IdRanges.of_steps}
_WRITTEN: Mapping[int, Callable[[IdRanges], str]] = {1: lambda ids: ids.text, 2: lambda ids: ids.steps}
"""How each version writes ``unread``."""


def _positions(positions: Mapping[int, int]) -> dict[int, int]:
    """Return the positions by ascending id, without ledgers of which nothing was read."""
    return {int(each): int(positions[each]) for each in sorted(positions) if positions[each] > 0}


@frozen
class StreamOffset:
    """The progress of a stream in each ledger."""

    finished: IdRanges = NO_IDS
    """Ledgers that are not read any more: they were read to their end, or were not chosen."""
    open: Mapping[int, int] = field(factory=dict, converter=_positions)
    """The next entry, by ledger, of ledgers that were begun."""
    closed: Mapping[int, int] = field(factory=dict, converter=_positions)
    """The number of entries, by ledger, of ledgers that were read to their end last."""

    def __attrs_post_init__(self) -> None:
        if self.open.keys() & self.closed.keys():
            raise InvalidArgument("a ledger is open and closed at once")
        if any(each in self.finished for positions in (self.open, self.closed) for each in positions):
            raise InvalidArgument("a ledger is finished, and open or closed, at once")

    def position(self, ledger_id: int) -> int:
        """Return the next entry of a ledger that is not finished, 0 if nothing was read of it."""
        return self.open.get(ledger_id) or self.closed.get(ledger_id, 0)

    def is_finished(self, ledger_id: int) -> bool:
        """Return whether the ledger is not read any more."""
        return ledger_id in self.closed or ledger_id in self.finished

    def all_finished(self) -> IdRanges:
        """Return the ledgers that are not read any more."""
        return self.finished | IdRanges.of(self.closed)

    def to_json(self) -> dict[str, Any]:
        """Return the offset as Spark gets it, with the keys always in the same order."""
        return self._json(VERSION)

    def _json(self, version: int) -> dict[str, Any]:
        begun = IdRanges.of([*self.open, *self.closed])
        return {
            "closed": {str(each): count for each, count in self.closed.items()},
            "closedThrough": self.finished.last,
            "open": {str(each): following for each, following in self.open.items()},
            "unread": _WRITTEN[version](self.finished.missing() - begun),
            "v": version,
        }

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> "StreamOffset":
        """Return the offset that Spark hands back.  Raises InvalidArgument, with advice."""
        version = value.get("v") if isinstance(value, Mapping) else value
        if type(version) is not int or version not in _READ:
            raise InvalidArgument(
                f"the checkpoint has an offset of version {version!r}, this release reads versions 1 to {VERSION}: use "
                "the release that wrote the checkpoint, or a new checkpointLocation with startingOffsets"
            )
        try:
            return cls._parsed(value)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            reason = f"it lacks {error}" if isinstance(error, KeyError) else error
            raise InvalidArgument(
                f"the checkpoint has an offset that makes no sense ({reason}): restore the checkpoint, or use a new "
                "checkpointLocation with startingOffsets"
            ) from None

    @classmethod
    def _parsed(cls, value: Mapping[str, Any]) -> "StreamOffset":
        if value.keys() != set(_KEYS):
            raise ValueError(f"its keys are {', '.join(sorted(value))}, not {', '.join(_KEYS)}")
        closed, opened = (_of_json(value[key]) for key in ("closed", "open"))
        through = value["closedThrough"]
        if type(through) is not int or through < -1:
            raise ValueError(f"closedThrough is {through!r}")
        finished = IdRanges([(0, through)] if through >= 0 else [])
        finished = finished - _READ[value["v"]](value["unread"]) - IdRanges.of([*opened, *closed])
        offset = cls(finished, opened, closed)
        if offset._json(value["v"]) != value:
            raise ValueError("it is not in its one form")
        return offset


def _of_json(positions: Mapping[str, Any]) -> dict[int, int]:
    for ledger, position in positions.items():
        if type(position) is not int or position < 0:
            raise ValueError(f"the position in ledger {ledger} is {position!r}")
    return {int(ledger): position for ledger, position in positions.items()}

"""Sets of ledger ids as ranges: small for any number of ids, as long as most of them are consecutive."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from attrs import field, frozen

IdRange = tuple[int, int]
"""First and last id, inclusive."""


def _merged(ranges: Iterable[IdRange]) -> tuple[IdRange, ...]:
    """Return the ranges sorted, none touching or overlapping another."""
    merged: list[IdRange] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return tuple(merged)


@frozen
class IdRanges:
    """A set of ids that are 0 or more, 128 bits wide or less.  Equal sets have equal ranges."""

    ranges: tuple[IdRange, ...] = field(default=(), converter=_merged)

    @classmethod
    def of(cls, ids: Iterable[int]) -> "IdRanges":
        """Return the set of these ids."""
        return cls((int(each), int(each)) for each in ids)

    @classmethod
    def of_text(cls, text: str) -> "IdRanges":
        """Return the set written as ``1,5-9``; the empty text is the empty set.  Raises ValueError for others."""
        ranges = []
        for part in text.split(",") if text else ():
            found = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", part)
            if found is None:
                raise ValueError(f"{part!r} is no id and no range of ids")
            first = int(found[1])
            last = first if found[2] is None else int(found[2])
            if last < first:
                raise ValueError(f"{part!r} ends before it begins")
            ranges.append((first, last))
        return cls(ranges)

    @property
    def text(self) -> str:
        """The set as :meth:`of_text` reads it."""
        return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in self.ranges)

    @classmethod
    def of_steps(cls, text: str) -> "IdRanges":
        """Return the set written as :attr:`steps`.  Raises ValueError for other texts."""
        ranges, following = [], 0
        for part in text.split(",") if text else ():
            found = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", part)
            if found is None:
                raise ValueError(f"{part!r} is no step to an id or a range of ids")
            first = following + int(found[1])
            last = first + int(found[2] or 0)
            ranges.append((first, last))
            following = last + 1
        return cls(ranges)

    @property
    def steps(self) -> str:
        """The set as steps from range to range: ``1,3-4`` is 1 and 5-9.

        A step is the number of ids left out before the range.  If the range has more than one id, a dash and the number
        of its ids after the first follow.  Steps stay short for ranges close together, even if the ids are large.
        """
        steps, following = [], 0
        for first, last in self.ranges:
            steps.append(f"{first - following}-{last - first}" if last > first else str(first - following))
            following = last + 1
        return ",".join(steps)

    @property
    def last(self) -> int:
        """The highest id, -1 if there is none."""
        return self.ranges[-1][1] if self.ranges else -1

    @property
    def count(self) -> int:
        """The number of ids."""
        return sum(last - first + 1 for first, last in self.ranges)

    def each(self) -> Iterator[int]:
        """Iterate over the ids, ascending."""
        for first, last in self.ranges:
            yield from range(first, last + 1)

    def __contains__(self, ledger_id: int) -> bool:
        index = bisect_right(self.ranges, ledger_id, key=_first) - 1
        return index >= 0 and ledger_id <= self.ranges[index][1]

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __or__(self, other: "IdRanges") -> "IdRanges":
        return IdRanges((*self.ranges, *other.ranges)) if other.ranges else self

    def __sub__(self, other: "IdRanges") -> "IdRanges":
        return IdRanges(_without(self.ranges, other.ranges)) if other.ranges else self

    def missing(self) -> "IdRanges":
        """Return the ids from 0 to the highest one that are not in the set."""
        ends = [-1, *(last for _, last in self.ranges)]
        gaps = zip(ends, (first for first, _ in self.ranges), strict=False)
        return IdRanges((end + 1, first - 1) for end, first in gaps if end + 1 < first)


NO_IDS = IdRanges()


def _first(each: IdRange) -> int:
    return each[0]


def _without(ranges: tuple[IdRange, ...], taken: tuple[IdRange, ...]) -> Iterator[IdRange]:
    """Yield the rest of ``ranges`` without ``taken``; both are sorted."""
    position = 0
    for first, last in ranges:
        while position < len(taken) and taken[position][1] < first:
            position += 1
        index = position
        while index < len(taken) and taken[index][0] <= last:
            if first < taken[index][0]:
                yield first, taken[index][0] - 1
            first = taken[index][1] + 1
            index += 1
        if first <= last:
            yield first, last

"""How fast a bookie answers reads, and how long a read waits there before another replica is asked as well."""

from collections import deque
from collections.abc import Callable
from math import ceil, inf

SHORTEST_S = 0.05
"""No read is said to be slow before: a bookie that is that late may just have been busy."""

CONNECTING_S = 0.5
"""Nor one that waits for a connection to be made, which takes some exchanges."""

FIRST = 8
EVERY = 32
RECENT = 128
"""Answers after which the figures are made for the first time, and again; and answers that they are made of."""


class Pace:
    """What one bookie took for its last answers to reads.

    An answer is measured from the request on, so it has the time in which it waited behind others.  ``longest_s``
    bounds :attr:`speculation_s`; with 0 no read is ever slow.  ``measured`` is called when the figures are new.
    """

    __slots__ = ("_longest_s", "_measured", "_recent", "_until_next", "speculation_s", "typical_s")

    def __init__(self, longest_s: float, measured: Callable[[], None] = lambda: None) -> None:
        self._longest_s = longest_s
        self._measured = measured
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._until_next = FIRST
        self.speculation_s = max(longest_s, SHORTEST_S) if longest_s else inf
        """Seconds after which a read is slow: the 99th percentile of what the last ones took, within bounds; the upper
        bound while that is not known."""
        self.typical_s: float | None = None
        """The median, in seconds; None as long as too few answers are known."""

    @property
    def connecting_s(self) -> float:
        """Seconds after which a read is slow that waits for a connection to be made."""
        return max(self.speculation_s, CONNECTING_S)

    def took(self, seconds: float) -> None:
        """Take note of an answer that came after so long."""
        self._recent.append(seconds)
        self._until_next -= 1
        if not self._until_next:
            self._measure()

    def begin_again(self) -> None:
        """Forget the answers: the next figures are made of later ones."""
        self._recent.clear()
        self._until_next, self.typical_s = FIRST, None

    def _measure(self) -> None:
        self._until_next = EVERY
        recent = sorted(self._recent)
        self.typical_s = recent[len(recent) // 2]
        if self._longest_s:
            percentile = recent[ceil(0.99 * len(recent)) - 1]
            self.speculation_s = max(min(percentile, self._longest_s), SHORTEST_S)
        self._measured()

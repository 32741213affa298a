"""Which bookies are asked last: those that owe a slow answer, and those that take much longer than others."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from math import inf

from bookkeeper_tx.client.unexpired import unexpired
from bookkeeper_tx.driver import Clock
from bookkeeper_tx.model import BookieId
from bookkeeper_tx.transport.pace import Pace

MUCH_LONGER = 4
"""A bookie is asked last if its reads typically take so many times as long as those of the fastest …"""

LONG_S = 0.05
"""… and longer than this: below that the order of the replicas spreads the load better."""

ASKED_LAST_S = 10.0
"""How long; then it is asked as the others are, and measured again."""

INSISTING_PART = 0.1
"""How many of the slow reads may be made at bookies that are slow themselves …"""

INSISTING_MAX = 10.0
"""… and how many at once, after a while without any."""


class ReadOrder:
    """What the bookies took for their reads, and what they owe."""

    def __init__(self, clock: Clock, speculative_read_s_max: float) -> None:
        self._clock = clock
        self._longest_s = speculative_read_s_max
        self._paces: dict[BookieId, Pace] = {}
        self._owed: Counter[BookieId] = Counter()
        self._insisting = INSISTING_MAX
        self.last_until: dict[BookieId, float] = {}
        """Bookie → the time until which it is asked last, infinity while it owes an answer; :attr:`last` drops those
        that are past it."""

    def pace(self, bookie_id: BookieId) -> Pace:
        """Return what is kept of the times of this bookie's answers."""
        if bookie_id not in self._paces:
            self._paces[bookie_id] = Pace(self._longest_s, partial(self._measured, bookie_id))
        return self._paces[bookie_id]

    @property
    def last(self) -> Mapping[BookieId, float]:
        """The bookies that are asked last."""
        return unexpired(self.last_until, self._clock)

    def owes(self, bookie_id: BookieId) -> None:
        """A read is slow at this bookie: a call of :meth:`paid` follows."""
        self._owed[bookie_id] += 1
        self._insisting = min(self._insisting + INSISTING_PART, INSISTING_MAX)
        self.last_until[bookie_id] = inf

    def may_insist(self) -> bool:
        """Return whether one more slow read may be made at a bookie that is slow itself."""
        if self._insisting < 1:
            return False
        self._insisting -= 1
        return True

    def paid(self, bookie_id: BookieId) -> None:
        """A slow read has ended."""
        self._owed[bookie_id] -= 1
        if not self._owed[bookie_id]:
            del self._owed[bookie_id], self.last_until[bookie_id]

    def _measured(self, bookie_id: BookieId) -> None:
        typical_s = self._paces[bookie_id].typical_s or 0.0
        fastest_s = min(pace.typical_s for pace in self._paces.values() if pace.typical_s is not None)
        if typical_s > max(LONG_S, MUCH_LONGER * fastest_s) and bookie_id not in self._owed:
            self.last_until[bookie_id] = self._clock.seconds() + ASKED_LAST_S
            self._paces[bookie_id].begin_again()

"""Which requests of a connection are overdue: those for which nothing goes on (docs/guides/client.md)."""

from collections import deque
from itertools import islice
from math import inf, nextafter

from attrs import define


@define(eq=False)
class _Received:
    """What came in a tenth of the time for which it counts."""

    first_s: float
    last_s: float
    answered: float = inf
    """The earliest deadline that was answered."""
    part: bool = False
    """Whether there was nothing but a part of a frame, which is not complete yet."""


class Progress:
    """Judges the requests of one connection by their deadlines, and by the bytes that came lately.

    A bookie answers roughly in the order of the requests.  So an answer is progress for the request that it answers,
    and for all those after it, which are known by their later deadlines.  It says nothing about an earlier request,
    which may hang while others are served.  Bytes of a frame that is not complete yet are progress for every request,
    until the frame is complete and shows which request it answers.
    """

    __slots__ = ("_recent", "patience_s")

    def __init__(self, patience_s: float) -> None:
        self.patience_s = patience_s
        """How long an answer counts."""
        self._recent: deque[_Received] = deque()

    def received(self, now: float, answered: float | None) -> None:
        """Take note of bytes that came; ``answered`` is the deadline of a request that they have answered, if any."""
        recent = self._recent
        if not recent or now - recent[-1].first_s >= self.patience_s / 10:
            self._forget(now)
            recent.append(_Received(now, now))
        latest = recent[-1]
        latest.last_s = now
        if answered is None:
            latest.part = latest.answered == inf
            return
        latest.part, latest.answered = False, min(latest.answered, answered)
        for each in islice(reversed(recent), 1, None):
            if not each.part:
                break
            each.part, each.answered = False, answered

    def overdue(self, now: float, late_s: float = 0.0) -> float:
        """Return the deadline up to which requests are overdue: ``now``, or less if there was progress lately.

        Later deadlines are spared until nothing has gone on before them for :attr:`patience_s`.  With ``late_s`` those
        are overdue that have so much time left.
        """
        self._forget(now)
        spared = min((-inf if each.part else each.answered for each in self._recent), default=inf)
        return now + late_s if now + late_s < spared else nextafter(spared, -inf)

    def _forget(self, now: float) -> None:
        recent = self._recent
        while recent and recent[0].last_s + self.patience_s <= now:
            recent.popleft()

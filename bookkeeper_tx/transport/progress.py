"""Which requests of a connection are overdue: those for which nothing goes on (docs/guides/client.md)."""

from collections import deque
from math import inf, nextafter


class Progress:
    """Judges the requests of one connection by their deadlines, and by the bytes that came lately.

    A bookie answers roughly in the order of the requests.  So an answer is progress for the request that it answers,
    and for all those after it, which are known by their later deadlines.  It says nothing about an earlier request,
    which may hang while others are served.  Bytes of a frame that is not complete yet are progress for every request,
    until the frame is complete and shows which request it answers.
    """

    __slots__ = ("_answered", "_patience_s", "_received", "_recent")

    def __init__(self, patience_s: float) -> None:
        self._patience_s = patience_s
        self._recent: deque[tuple[float, float]] = deque()
        """(Time of a call of :meth:`overdue`, earliest deadline answered before it); -inf for a part of a frame."""
        self._answered = inf
        self._received = False

    def received(self, answered: float | None) -> None:
        """Take note of bytes that came; ``answered`` is the deadline of a request that they have answered, if any."""
        self._received = True
        if answered is not None and answered < self._answered:
            self._answered = answered

    def overdue(self, now: float) -> float:
        """Return the deadline up to which requests are overdue: ``now``, or less if there was progress lately.

        Later deadlines are spared until nothing has gone on before them for ``patience_s``.
        """
        recent = self._recent
        if self._answered < inf:
            for index, (time, deadline) in enumerate(recent):
                if deadline == -inf:
                    recent[index] = time, self._answered
        if self._received:
            recent.append((now, self._answered if self._answered < inf else -inf))
        self._answered, self._received = inf, False
        while recent and recent[0][0] + self._patience_s <= now:
            recent.popleft()
        spared = min((deadline for _, deadline in recent), default=inf)
        return now if now < spared else nextafter(spared, -inf)

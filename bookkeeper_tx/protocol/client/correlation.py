"""Which request a reply belongs to.

V2 replies to adds and reads carry no request id: equal requests in flight are kept in the order they were sent, and
each reply answers the oldest.  The values kept are ``(token, deadline)``; a token is the caller's own and never looked
into.
"""

from collections import deque
from collections.abc import Hashable, Iterator
from typing import Any, TypeAlias

Waiting: TypeAlias = tuple[Any, float]


class Correlation:
    """A multimap from the ids in a reply to the requests that wait for it, oldest first.

    Requests of a table with ``one_timeout`` expire in the order in which they came; those of another table in any
    order, so all of them have to be looked at.
    """

    __slots__ = ("_again", "_in_order", "_out_of_order", "_waiting")

    def __init__(self, one_timeout: bool = True) -> None:
        self._waiting: dict[Hashable, Waiting] = {}
        self._again: dict[Hashable, deque[Waiting]] = {}
        """Requests equal to one that waits already."""
        self._in_order = one_timeout
        self._out_of_order = not one_timeout
        """Whether one of those has moved up, and so is after younger ones in ``_waiting``."""

    def __len__(self) -> int:
        return len(self._waiting) + sum(map(len, self._again.values()))

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def pop_run(self, ids: range) -> list[Any]:
        """Return the tokens of the requests of ``ids``; an id without a waiting request gives none."""
        pop = self._waiting.pop
        if self._again:
            return [token for token in map(self.pop, ids) if token is not None]
        return [waiting[0] for waiting in [pop(key, None) for key in ids] if waiting is not None]

    def add(self, key: Hashable, token: Any, deadline: float) -> None:
        if key in self._waiting:
            self._again.setdefault(key, deque()).append((token, deadline))
        else:
            self._waiting[key] = (token, deadline)

    def pop(self, key: Hashable) -> Any:
        """Return the token of the oldest request of ``key``, or None if nobody waits (a late reply)."""
        waiting = self._waiting.pop(key, None)
        if waiting is None:
            return None
        if self._again and key in self._again:
            self._promote(key)
        return waiting[0]

    def _promote(self, key: Hashable) -> None:
        again = self._again[key]
        self._out_of_order = True
        self._waiting[key] = again.popleft()
        if not again:
            del self._again[key]

    def expire(self, now: float) -> Iterator[tuple[Hashable, Any]]:
        """Take out the requests whose deadline has passed."""
        while self._waiting:
            if self._out_of_order:
                overdue = [key for key, (_, deadline) in self._waiting.items() if deadline <= now]
            else:
                key, (_, deadline) = next(iter(self._waiting.items()))
                overdue = [key] if deadline <= now else []
            if not overdue:
                return
            for key in overdue:
                yield key, self.pop(key)
        self._out_of_order = not self._in_order

    def take_all(self) -> Iterator[Any]:
        """Take out every request."""
        while self._waiting:
            yield self.pop(next(iter(self._waiting)))

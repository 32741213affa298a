"""Which request a reply belongs to.

V2 replies to adds and reads carry no request id: equal requests in flight are kept in the order they were sent, and
each reply answers the oldest.  The values kept are ``(token, deadline)``; a token is the caller's own and never looked
into.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from math import inf
from typing import Any, TypeAlias

from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.protocol.client.completion import Completion
from bookkeeper_tx.protocol.client.slow_requests import Tell

Waiting: TypeAlias = tuple[Any, float]


class Correlation:
    """A multimap from the ids in a reply to the requests that wait for it, oldest first.

    Requests of a table with ``one_timeout`` expire in the order in which they came; those of another table in any
    order, so all of them have to be looked at.
    """

    __slots__ = ("_again", "_in_order", "_out_of_order", "_told_until", "_waiting", "answered")

    def __init__(self, one_timeout: bool = True) -> None:
        self._waiting: dict[Hashable, Waiting] = {}
        self._again: dict[Hashable, deque[Waiting]] = {}
        """Requests equal to one that waits already."""
        self._in_order = one_timeout
        self._out_of_order = not one_timeout
        """Whether one of those has moved up, and so is after younger ones in ``_waiting``."""
        self._told_until = -inf
        """The deadline up to which :meth:`tell_slow` has told the requests."""
        self.answered: float | None = None
        """The earliest deadline of the requests that were answered lately; set to None to look anew."""

    def __len__(self) -> int:
        return len(self._waiting) + sum(map(len, self._again.values()))

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, key: Hashable, token: Any, deadline: float) -> None:
        waiting = (token, deadline)
        if self._waiting.setdefault(key, waiting) is not waiting:
            self._again.setdefault(key, deque()).append(waiting)

    def find(self, key: Hashable) -> Any:
        """Return the token of the oldest request of ``key``, which goes on waiting, or None if nobody waits."""
        waiting = self._waiting.get(key)
        return None if waiting is None else waiting[0]

    def pop(self, key: Hashable) -> Any:
        """Return the token of the oldest request of ``key``, or None if nobody waits (a late reply)."""
        waiting = self._waiting.pop(key, None)
        if waiting is None:
            return None
        if self._again and key in self._again:
            self._promote(key, self._again[key])
        if self.answered is None or waiting[1] < self.answered:
            self.answered = waiting[1]
        return waiting[0]

    def completions(
        self, keys: Sequence[Hashable], error: BookKeeperError | None, values: Iterable[Any] = repeat(None)
    ) -> list[Completion]:
        """Take out the oldest request of each key, and complete it with ``error`` and the key's value.

        A key for which nobody waits gives nothing.
        """
        if self._again:
            tokens = map(self.pop, keys)
            return [(token, error, value) for token, value in zip(tokens, values, strict=False) if token is not None]
        found = list(map(self._waiting.pop, keys, repeat(None)))
        # The oldest comes first, or nearly so.
        oldest = next(filter(None, found), None)
        if oldest is not None and (self.answered is None or oldest[1] < self.answered):
            self.answered = oldest[1]
        return [(each[0], error, value) for each, value in zip(found, values, strict=False) if each is not None]

    def expire(self, now: float) -> list[Any]:
        """Take out the requests whose deadline has passed, and return their tokens."""
        overdue: list[Hashable] = []
        for key, (_, deadline) in self._waiting.items():
            if deadline <= now:
                overdue.append(key)
            elif not self._out_of_order:
                break
        return [token for key in overdue for token in self._expired(key, now)]

    def tell_slow(self, deadline: float, tell: Tell) -> float:
        """Tell each request, once, that waits with a deadline up to this one; it goes on waiting.

        ``tell(token)`` returns the token to keep in its place.  Returns the earliest deadline of those not told yet,
        infinity if there is none.
        """
        slow: list[Hashable] = []
        after = inf
        if not self._waiting:
            self._out_of_order = not self._in_order
        for key, (_, its) in self._waiting.items():
            if its > deadline:
                after = min(after, its)
                if not self._out_of_order:
                    break
            elif its > self._told_until:
                slow.append(key)
        for key in slow:
            if (waiting := self._waiting.get(key)) is not None:
                self._waiting[key] = tell(waiting[0]), waiting[1]
        for again in list(self._again.values()):
            for index, (token, its) in enumerate(list(again)):
                if its > deadline:
                    after = min(after, its)
                elif its > self._told_until:
                    again[index] = tell(token), its
        self._told_until = max(self._told_until, deadline)
        return after

    def take_all(self) -> list[Any]:
        """Take out every request, and return the tokens."""
        waiting, self._waiting = self._waiting, {}
        again, self._again = self._again, {}
        self._out_of_order = not self._in_order
        return [token for token, _ in chain(waiting.values(), *again.values())]

    def _expired(self, key: Hashable, now: float) -> Iterator[Any]:
        """Take out the requests of ``key`` that are overdue, as the oldest one is."""
        yield self._waiting.pop(key)[0]
        again = self._again.get(key)
        if again is None:
            return
        while again and again[0][1] <= now:
            yield again.popleft()[0]
        self._promote(key, again)

    def _promote(self, key: Hashable, again: deque[Waiting]) -> None:
        """Put the oldest request of ``again``, if there is one, in the place of the one that was taken out."""
        if again:
            self._out_of_order = True
            self._waiting[key] = again.popleft()
        if not again:
            del self._again[key]

"""The order in which the requests of one client are served."""

from collections import deque
from collections.abc import Callable, Iterable

from bookkeeper_tx.protocol.bookie.requests import Continuation, Request


class RequestTurns:
    """The requests of one client that wait: ends of requests first, then rests of requests, then those that were read.

    While :attr:`slow`, the client does not take its replies, and nothing has its turn.  While :attr:`pauses` is not 0,
    only ends of requests have.
    """

    __slots__ = ("_ends", "_read", "_rests", "pauses", "slow")

    def __init__(self) -> None:
        self.pauses = 0
        """How many ask for a pause."""
        self.slow = False
        """Whether the client does not take its replies."""
        self._ends: deque[Continuation] = deque()
        self._rests: deque[Continuation] = deque()
        self._read: deque[Request] = deque()

    def __len__(self) -> int:
        return len(self._ends) + len(self._rests) + len(self._read)

    def add(self, requests: Iterable[Request]) -> None:
        """Let ``requests``, just read, wait after all others."""
        self._read.extend(requests)

    def add_rest(self, request: Request) -> None:
        """Let the rest of a request wait, before all that came after it."""
        if type(request) is Continuation:
            self._rests.append(request)
        else:
            self._read.appendleft(request)

    def add_end(self, end: Callable[[], None]) -> None:
        """Let the end of a request wait."""
        self._ends.append(Continuation(end))

    def take(self) -> Request | None:
        """Return the request whose turn it is, None if there is none."""
        if self.slow:
            return None
        if self._ends:
            return self._ends.popleft()
        if self.pauses:
            return None
        if self._rests:
            return self._rests.popleft()
        return self._read.popleft() if self._read else None

    def clear(self) -> list[Continuation]:
        """Forget all of them; returns the ends of requests."""
        ends = list(self._ends)
        for each in (self._ends, self._rests, self._read):
            each.clear()
        return ends

"""The order in which the requests of one client are served."""

from collections import deque
from collections.abc import Callable, Iterable

from bookkeeper_tx.protocol.bookie.requests import REQUEST_BYTES, Continuation, Request, kept_bytes


class RequestTurns:
    """The requests of one client that wait: ends of requests first, then rests of requests, then those that were read.

    While :attr:`slow`, the client does not take its replies, and nothing has its turn.  While :attr:`pauses` is not 0,
    only ends of requests have.
    """

    __slots__ = ("_ends", "_read", "_read_bytes", "_rests", "_rests_bytes", "pauses", "slow")

    def __init__(self) -> None:
        self.pauses = 0
        """How many ask for a pause."""
        self.slow = False
        """Whether the client does not take its replies."""
        self._ends: deque[Continuation] = deque()
        self._rests: deque[Continuation] = deque()
        self._rests_bytes = 0
        """Memory of these rests; they may be thousands, so it is not summed up again and again."""
        self._read: deque[Request] = deque()
        self._read_bytes: int | None = 0
        """Memory of the requests that were read; None: not known since one has come or gone."""

    @property
    def kept_bytes(self) -> int:
        """Memory in bytes of all that waits, more or less."""
        if self._read_bytes is None:
            self._read_bytes = sum(map(kept_bytes, self._read))
        return self._read_bytes + self._rests_bytes + REQUEST_BYTES * len(self._ends)

    def add(self, requests: Iterable[Request]) -> None:
        """Let ``requests``, just read, wait after all others."""
        self._read.extend(requests)
        self._read_bytes = None

    def add_rest(self, request: Request) -> None:
        """Let the rest of a request wait, before all that came after it."""
        if type(request) is Continuation:
            self._rests.append(request)
            self._rests_bytes += kept_bytes(request)
        else:
            self._read.appendleft(request)
            self._read_bytes = None

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
            rest = self._rests.popleft()
            self._rests_bytes -= kept_bytes(rest)
            return rest
        if not self._read:
            return None
        self._read_bytes = None
        return self._read.popleft()

    def clear(self) -> list[Continuation]:
        """Forget all of them; returns the ends of requests."""
        ends = list(self._ends)
        for each in (self._ends, self._rests, self._read):
            each.clear()
        self._read_bytes = self._rests_bytes = 0
        return ends

"""Appends that a writer has taken, and cannot send yet: payloads that are read as there is room for them."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bookkeeper_tx.driver import Promise


class HeldAppends:
    """The payloads of one call, and what its caller waits for.

    At most one payload is held besides what the caller holds: the others are in ``payloads``, which may make them as
    they are read.
    """

    __slots__ = ("_answer", "_next", "_payloads", "count", "deferred", "error", "first", "one")

    def __init__(
        self,
        deferred: Promise[Any],
        payloads: Iterable[bytes],
        count: int,
        one: bool,
        answer: Callable[[range], Any],
    ) -> None:
        self.deferred = deferred
        self.one = one
        """Whether the caller waits for one id, not for a range of ids."""
        self.first: int | None = None
        """Id of the first entry, once it is sent."""
        self.count = count
        """How many of the payloads that a writer holds back it counts for this call."""
        self.error: BaseException | None = None
        """What ``payloads`` raised."""
        self._answer = answer
        self._payloads: Iterator[bytes] = iter(payloads)
        self._next = self._read()

    @property
    def empty(self) -> bool:
        """Whether nothing is left to send."""
        return self._next is None

    def take(self, count: int, size: int) -> list[bytes]:
        """Take the next payloads, up to ``count`` and up to ``size`` bytes, but at least one."""
        taken: list[bytes] = []
        payload, read = self._next, self._read
        while payload is not None and (not taken or (len(taken) < count and size >= len(payload))):
            taken.append(payload)
            size -= len(payload)
            payload = read()
        self._next = payload
        return taken

    def result(self, last: int) -> Any:
        """Return what the caller gets, unless it waits for one id, when ``last`` is the id of the last entry."""
        return self._answer(range(last if self.first is None else self.first, last + 1))

    def _read(self) -> bytes | None:
        try:
            return next(self._payloads, None)
        except BaseException as error:
            # Whatever it is, it is the end of this call alone, and goes to whoever waits for it.  Raised here it would
            # lose what was read before it, and end the connection whose reply has made room.
            self.error = error
            self._payloads = iter(())
            return None

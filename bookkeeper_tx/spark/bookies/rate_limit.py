"""How fast one reader or writer may go at each bookie: token buckets that may go into debt, and then wait."""

import time
from collections.abc import Callable

from attrs import field, frozen
from attrs.validators import gt, optional

from bookkeeper_tx.model import BookieId

BURST_S = 1.0
"""For how long a bucket fills, in seconds: after a pause, so many seconds' worth may be read at once."""


@frozen(kw_only=True)
class RateLimit:
    """The highest rate of reading from one bookie, or of writing to it; None is without limit.

    It holds for one set of channels, which is one Spark task: several tasks at a time have several times this rate.
    """

    entries_per_s: float | None = field(default=None, validator=optional(gt(0)))
    bytes_per_s: float | None = field(default=None, validator=optional(gt(0)))

    def portion(self) -> tuple[int | None, int | None]:
        """Return how many entries, and bytes, may be sent in one piece so that the rate is even; at least one."""
        entries, size = (
            None if rate is None else max(1, int(rate * PORTION_S)) for rate in (self.entries_per_s, self.bytes_per_s)
        )
        return entries, size


PORTION_S = 0.1
"""Seconds' worth of the rate that is sent in one piece: less than a burst, so that the next piece waits briefly."""


class _Bucket:
    """Tokens that come at ``rate`` a second; the number taken is known only afterwards, so there may be a debt."""

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._tokens = rate * BURST_S
        self._filled_at = now

    def take(self, count: float) -> None:
        self._tokens -= count

    def wait_s(self, now: float) -> float:
        """Return in how many seconds the debt will be paid off; 0 if there is none."""
        self._tokens = min(self._tokens + (now - self._filled_at) * self._rate, self._rate * BURST_S)
        self._filled_at = now
        return max(-self._tokens / self._rate, 0.0)


class RateLimiter:
    """Delays requests so that ``limit`` is kept.  ``clock`` returns seconds, ``sleep`` takes seconds."""

    def __init__(
        self,
        limit: RateLimit,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._limit = limit
        self._clock = clock
        self._sleep = sleep
        self._buckets: dict[BookieId, tuple[_Bucket | None, _Bucket | None]] = {}

    def wait(self, bookie_id: BookieId) -> None:
        """Wait until the next request to this bookie may be sent."""
        now = self._clock()
        wait_s = max((each.wait_s(now) for each in self._buckets_of(bookie_id) if each is not None), default=0.0)
        if wait_s > 0:
            self._sleep(wait_s)

    def moved(self, bookie_id: BookieId, entries: float, size: float) -> None:
        """Count ``entries`` with ``size`` bytes that came from this bookie, or were sent to it."""
        of_entries, of_bytes = self._buckets_of(bookie_id)
        if of_entries is not None:
            of_entries.take(entries)
        if of_bytes is not None:
            of_bytes.take(size)

    def _buckets_of(self, bookie_id: BookieId) -> tuple[_Bucket | None, _Bucket | None]:
        buckets = self._buckets.get(bookie_id)
        if buckets is None:
            now = self._clock()
            rates = (self._limit.entries_per_s, self._limit.bytes_per_s)
            of_entries, of_bytes = (None if rate is None else _Bucket(rate, now) for rate in rates)
            buckets = self._buckets[bookie_id] = of_entries, of_bytes
        return buckets

"""How fast one reader or writer may go at each bookie: token buckets, which go into debt and wait it off."""

import time
from collections.abc import Callable

from attrs import field, frozen
from attrs.validators import gt, optional

from bookkeeper_tx.model import BookieId

BURST_S = 1.0
"""How long a bucket fills: what was not read for a while may be read at once, up to this much of it."""


@frozen(kw_only=True)
class RateLimit:
    """The most that is read from one bookie, or written to it; None is without limit.

    It holds for one set of channels, which is one Spark task: as many as run at a time have as many times of it.
    """

    entries_per_s: float | None = field(default=None, validator=optional(gt(0)))
    bytes_per_s: float | None = field(default=None, validator=optional(gt(0)))

    def portion(self) -> tuple[int | None, int | None]:
        """Return how many entries, and bytes, may go in one piece for the rate to look even; at least one."""
        entries, size = (
            None if rate is None else max(1, int(rate * PORTION_S)) for rate in (self.entries_per_s, self.bytes_per_s)
        )
        return entries, size


PORTION_S = 0.1
"""How much of it goes at once: less than a burst, so that what waits for the rest does not wait long."""


class _Bucket:
    """Tokens that come at ``rate`` a second; what was taken is known afterwards only, so it may be less than none."""

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._tokens = rate * BURST_S
        self._filled_at = now

    def take(self, count: float) -> None:
        self._tokens -= count

    def wait_s(self, now: float) -> float:
        """Return in how many seconds the debt is paid off; 0 if there is none."""
        self._tokens = min(self._tokens + (now - self._filled_at) * self._rate, self._rate * BURST_S)
        self._filled_at = now
        return max(-self._tokens / self._rate, 0.0)


class RateLimiter:
    """Holds requests back where ``limit`` is reached.  ``clock`` gives seconds, ``sleep`` takes them."""

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
        """Return when the next request to this bookie may be sent."""
        now = self._clock()
        wait_s = max((each.wait_s(now) for each in self._buckets_of(bookie_id) if each is not None), default=0.0)
        if wait_s > 0:
            self._sleep(wait_s)

    def moved(self, bookie_id: BookieId, entries: float, size: float) -> None:
        """Take note of ``entries`` with ``size`` bytes that came from this bookie, or were sent to it."""
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

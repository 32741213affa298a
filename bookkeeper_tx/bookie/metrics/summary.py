"""How long something takes: quantiles of the last minutes, and the sum of all times."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Final

QUANTILES: Final = (0.5, 0.75, 0.95, 0.99, 0.999, 0.9999, 1.0)
"""Those that Java tells."""

WINDOW_S: Final = 60.0
"""Quantiles are those of this window and of the one before; a window lasts longer if nobody asks for so long."""

_BUCKETS_PER_E: Final = 20
"""A bucket ends 5 % above its beginning: so wrong may a quantile be."""

_LEAST: Final = 1e-3
"""Values below it count as it does."""

_FIRST_BUCKET: Final = math.ceil(math.log(_LEAST) * _BUCKETS_PER_E)


class Summary:
    """Values in buckets whose bounds grow by a factor; ``seconds`` gives the time."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self.count = 0
        self.sum = 0.0
        self._seconds = seconds
        self._window = int(seconds() / WINDOW_S)
        self._now: dict[int, int] = {}
        self._before: dict[int, int] = {}

    def observe(self, value: float, weight: int = 1) -> None:
        """Count ``value``, as often as ``weight`` says."""
        self.count += weight
        self.sum += value * weight
        bucket = math.ceil(math.log(value) * _BUCKETS_PER_E) if value > _LEAST else _FIRST_BUCKET
        self._now[bucket] = self._now.get(bucket, 0) + weight

    @property
    def mean(self) -> float:
        """The mean of all values; 0 if there are none."""
        return self.sum / self.count if self.count else 0.0

    def quantiles(self) -> list[float]:
        """Return a bound of each of QUANTILES, not a number where there are no values."""
        self._turn()
        buckets = sorted((Counter(self._now) + Counter(self._before)).items())
        total = sum(count for _, count in buckets)
        return [_at(buckets, quantile * total) if total else math.nan for quantile in QUANTILES]

    def _turn(self) -> None:
        """Begin the next window if it is time: not when a value comes, which happens oftener."""
        window = int(self._seconds() / WINDOW_S)
        if window != self._window:
            self._before, self._now, self._window = self._now, {}, window


def _at(buckets: list[tuple[int, int]], rank: float) -> float:
    """Return the upper bound of the bucket that holds the value of this rank."""
    seen = 0
    for bucket, count in buckets:
        seen += count
        if seen >= rank:
            return math.exp(bucket / _BUCKETS_PER_E)
    return math.nan


class Outcomes:
    """A summary of what succeeded, and one of what failed."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self.succeeded = Summary(seconds)
        self.failed = Summary(seconds)

    def observe(self, value: float, succeeded: bool, weight: int = 1) -> None:
        """Count ``value`` where it belongs."""
        (self.succeeded if succeeded else self.failed).observe(value, weight)

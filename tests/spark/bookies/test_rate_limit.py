"""Token buckets, by a clock that only sleeping moves."""

import pytest

from bookkeeper_tx.spark.bookies.rate_limit import BURST_S, RateLimit, RateLimiter
from bookkeeper_tx.spark.reading.ledger_reader import LedgerReader
from tests.spark.bookies.stored_entries import PASSWORD, Site, sealed


class Clock:
    now = 0.0

    def sleep(self, duration_s: float) -> None:
        self.now += duration_s


def test_what_is_over_the_limit_is_waited_off():
    clock = Clock()
    limiter = RateLimiter(RateLimit(entries_per_s=100, bytes_per_s=1000), lambda: clock.now, clock.sleep)
    limiter.wait("a")
    limiter.moved("a", 100, 1000)
    limiter.wait("a")
    assert clock.now == 0
    limiter.moved("a", 50, 10)
    limiter.wait("a")
    assert clock.now == pytest.approx(0.5)
    limiter.moved("a", 1, 4000)
    limiter.wait("b")
    assert clock.now == pytest.approx(0.5)
    limiter.wait("a")
    assert clock.now == pytest.approx(4.01)


def test_time_gone_by_counts_for_a_burst_at_most():
    clock = Clock()
    limiter = RateLimiter(RateLimit(entries_per_s=10), lambda: clock.now, clock.sleep)
    limiter.wait("a")
    clock.now = 1000
    limiter.wait("a")
    limiter.moved("a", 20, 0)
    limiter.wait("a")
    assert clock.now == pytest.approx(1000 + 2 - BURST_S)


@pytest.mark.parametrize("write", [3, 2])
def test_a_reader_keeps_to_it(write):
    site = Site(3)
    site.store(map(sealed, range(1000)), write)
    channels = site.channels(RateLimit(entries_per_s=100))
    started = site.now
    runs = LedgerReader(channels, site.ledger(0, 999, write), PASSWORD, window=10, batch_size_max=640).runs()
    assert sum(run.count for run in runs) == 1000
    bookies = 1 if write == 3 else 3
    assert site.now - started == pytest.approx(1000 / 100 / bookies - BURST_S, abs=1)


@pytest.mark.parametrize("limit", [{"entries_per_s": 0}, {"bytes_per_s": -1}])
def test_limits_are_above_nothing(limit):
    with pytest.raises(ValueError, match="> 0"):
        RateLimit(**limit)

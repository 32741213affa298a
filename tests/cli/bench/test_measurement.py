"""Figures of runs."""

import pytest
from attrs import evolve

from bookkeeper_tx.cli.bench.measurement import Measured, Stopwatch, best, median, percentile_ms

RUN = Measured(
    entries=1000,
    size=2_000_000,
    seconds=2.0,
    client_cpu_us=4.0,
    bookie_cpu_us=2.0,
    other_cores=0.1,
    bookie_written_bytes=4096,
    latency_p50_ms=1.0,
    latency_p99_ms=3.0,
)


def test_rates_are_per_second_of_the_run():
    assert RUN.entries_per_s == 500
    assert RUN.mb_per_s == 1


def test_the_best_is_the_highest_rate_and_the_least_of_all_else():
    runs = [RUN, evolve(RUN, seconds=4.0, client_cpu_us=3.0), evolve(RUN, seconds=8.0, latency_p99_ms=9.0)]
    assert best(runs)["entries_per_s"] == 500
    assert best(runs)["client_cpu_us_per_entry"] == 3.0
    assert best(runs)["latency_p99_ms"] == 3.0
    assert median(runs)["entries_per_s"] == 250
    assert median(runs)["client_cpu_us_per_entry"] == 4.0


def test_what_is_not_known_of_a_run_is_not_known_of_all():
    runs = [RUN, evolve(RUN, bookie_cpu_us=None)]
    assert best(runs)["bookie_cpu_us_per_entry"] is None
    assert median(runs)["bookie_cpu_us_per_entry"] is None


def test_percentiles():
    latencies_s = [number / 1000 for number in range(100, 0, -1)]
    assert percentile_ms(latencies_s, 50) == pytest.approx(51)
    assert percentile_ms(latencies_s, 99) == pytest.approx(100)
    assert percentile_ms([0.007], 99) == pytest.approx(7)
    assert percentile_ms([], 50) is None


def test_a_stopwatch_without_bookies_knows_the_client_only():
    measured = Stopwatch(()).stop(10, 1000)
    assert measured.bookie_cpu_us is None
    assert measured.bookie_written_bytes is None
    assert measured.client_cpu_us >= 0
    assert measured.seconds > 0

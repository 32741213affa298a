"""The figures of one run of a workload, and the best and the median of several runs."""

import os
import statistics
import time
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from bookkeeper_tx.cli.bench.process_cpu import machine_busy_ns, usage

NANOSECONDS_PER_MICROSECOND = 1000
MILLISECONDS_PER_SECOND = 1000


@frozen
class Measured:
    """One run of one workload."""

    entries: int
    size: int
    """Payload bytes."""
    seconds: float
    client_cpu_us: float
    """CPU of the client's process per entry, microseconds."""
    bookie_cpu_us: float | None
    """CPU of all bookies' processes per entry, microseconds; None when they are not known."""
    other_cores: float
    """Cores that other processes kept busy: above 0.3 the rates say little."""
    bookie_written_bytes: int | None
    """Bytes that the bookies wrote to the disk meanwhile."""
    latency_p50_ms: float | None
    latency_p99_ms: float | None

    @property
    def entries_per_s(self) -> float:
        return self.entries / self.seconds

    @property
    def mb_per_s(self) -> float:
        return self.size / self.seconds / 1e6

    def as_dictionary(self) -> dict[str, Any]:
        """Return the figures under their names in JSON."""
        return {
            "entries": self.entries,
            "seconds": round(self.seconds, 4),
            "entries_per_s": round(self.entries_per_s, 1),
            "mb_per_s": round(self.mb_per_s, 3),
            "latency_p50_ms": _rounded(self.latency_p50_ms),
            "latency_p99_ms": _rounded(self.latency_p99_ms),
            "client_cpu_us_per_entry": _rounded(self.client_cpu_us),
            "bookie_cpu_us_per_entry": _rounded(self.bookie_cpu_us),
            "bookie_written_bytes": self.bookie_written_bytes,
            "other_cores": round(self.other_cores, 3),
        }


class Stopwatch:
    """Measures the time, CPU and disk use of this process and of ``bookie_pids`` from now on."""

    def __init__(self, bookie_pids: Sequence[int]) -> None:
        self._bookie_pids = bookie_pids
        self._machine_ns = machine_busy_ns()
        self._bookies = usage(*bookie_pids)
        self._client = usage(os.getpid())
        self._started = time.perf_counter()

    def stop(self, entries: int, size: int, latencies_s: Sequence[float] = ()) -> Measured:
        """Return the figures since the start, for ``entries`` entries with ``size`` payload bytes."""
        seconds = time.perf_counter() - self._started
        client = usage(os.getpid()).since(self._client)
        bookies = usage(*self._bookie_pids).since(self._bookies)
        others_ns = machine_busy_ns() - self._machine_ns - client.cpu_ns - bookies.cpu_ns
        per_entry = entries * NANOSECONDS_PER_MICROSECOND
        return Measured(
            entries=entries,
            size=size,
            seconds=seconds,
            client_cpu_us=client.cpu_ns / per_entry,
            bookie_cpu_us=bookies.cpu_ns / per_entry if self._bookie_pids else None,
            other_cores=max(0.0, others_ns / 1e9 / seconds),
            bookie_written_bytes=bookies.written_bytes if self._bookie_pids else None,
            latency_p50_ms=percentile_ms(latencies_s, 50),
            latency_p99_ms=percentile_ms(latencies_s, 99),
        )


def percentile_ms(latencies_s: Sequence[float], percent: int) -> float | None:
    """Return the latency in milliseconds that ``percent`` % do not exceed; None if there are no latencies."""
    if not latencies_s:
        return None
    ordered = sorted(latencies_s)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * MILLISECONDS_PER_SECOND


_BETTER_HIGH = ("entries_per_s", "mb_per_s")
_SUMMARIZED = (
    *_BETTER_HIGH,
    "latency_p50_ms",
    "latency_p99_ms",
    "client_cpu_us_per_entry",
    "bookie_cpu_us_per_entry",
)


def best(runs: Sequence[Measured]) -> dict[str, float | None]:
    """Return the best value of each figure over all runs: the highest rate, the lowest latency, the least CPU."""
    return {
        name: None if None in values else max(values) if name in _BETTER_HIGH else min(values)
        for name, values in _columns(runs)
    }


def median(runs: Sequence[Measured]) -> dict[str, float | None]:
    """Return the median of each figure over all runs."""
    return {name: None if None in values else statistics.median(values) for name, values in _columns(runs)}


def _columns(runs: Sequence[Measured]) -> list[tuple[str, list[Any]]]:
    rows = [run.as_dictionary() for run in runs]
    return [(name, [row[name] for row in rows]) for name in _SUMMARIZED]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)

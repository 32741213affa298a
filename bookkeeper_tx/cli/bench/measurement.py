"""The figures of one run of a workload, and the best and the median of several runs."""

import os
import statistics
import time
from collections.abc import Sequence
from typing import Any

from attrs import frozen

from bookkeeper_tx.cli.bench.process_cpu import Usage, machine_busy_ns, usage

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
    """CPU of all clients' processes per entry, microseconds."""
    bookie_cpu_us: float | None
    """CPU of all bookies' processes per entry, microseconds; None when they are not known."""
    other_cores: float
    """Cores that other processes kept busy: above 0.3 the rates say little."""
    bookie_written_bytes: int | None
    """Bytes that the bookies wrote to the disk meanwhile."""
    latency_p50_ms: float | None
    latency_p99_ms: float | None
    latency_max_ms: float | None = None
    client_rss_bytes_max: int = 0
    """Highest memory use of any client so far."""
    bookie_rss_bytes_max: int | None = None
    """Highest memory use of any bookie so far."""

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
            "latency_max_ms": _rounded(self.latency_max_ms),
            "client_cpu_us_per_entry": _rounded(self.client_cpu_us),
            "bookie_cpu_us_per_entry": _rounded(self.bookie_cpu_us),
            "bookie_written_bytes": self.bookie_written_bytes,
            "client_rss_bytes_max": self.client_rss_bytes_max,
            "bookie_rss_bytes_max": self.bookie_rss_bytes_max,
            "other_cores": round(self.other_cores, 3),
        }


class Stopwatch:
    """Measures the time, CPU and disk use of clients and bookies from now on; this process is the default client."""

    def __init__(self, bookie_pids: Sequence[int], client_pids: Sequence[int] = ()) -> None:
        self._bookie_pids = bookie_pids
        self._client_pids = client_pids or (os.getpid(),)
        self._machine_ns = machine_busy_ns()
        self._bookies = usage(*bookie_pids)
        self._clients = usage(*self._client_pids)
        self._started = time.perf_counter()

    def lap(self) -> "Lap":
        """Return what was used since the start."""
        seconds = time.perf_counter() - self._started
        return Lap(
            seconds=seconds,
            clients=usage(*self._client_pids).since(self._clients),
            bookies=usage(*self._bookie_pids).since(self._bookies) if self._bookie_pids else None,
            machine_ns=machine_busy_ns() - self._machine_ns,
        )

    def stop(self, entries: int, size: int, latencies_s: Sequence[float] = ()) -> Measured:
        """Return the figures since the start, for ``entries`` entries with ``size`` payload bytes."""
        return self.lap().measured(entries, size, latencies_s)


@frozen
class Lap:
    """What clients, bookies and the machine used meanwhile."""

    seconds: float
    clients: Usage
    bookies: Usage | None
    """None when they are not known."""
    machine_ns: int

    def measured(
        self, entries: int, size: int, latencies_s: Sequence[float] = (), slowest_s: float | None = None
    ) -> Measured:
        """Return the figures for ``entries`` entries with ``size`` payload bytes."""
        bookies = self.bookies
        others_ns = self.machine_ns - self.clients.cpu_ns - (bookies.cpu_ns if bookies else 0)
        per_entry = entries * NANOSECONDS_PER_MICROSECOND
        return Measured(
            entries=entries,
            size=size,
            seconds=self.seconds,
            client_cpu_us=self.clients.cpu_ns / per_entry,
            bookie_cpu_us=bookies.cpu_ns / per_entry if bookies else None,
            other_cores=max(0.0, others_ns / 1e9 / self.seconds),
            bookie_written_bytes=bookies.written_bytes if bookies else None,
            latency_p50_ms=percentile_ms(latencies_s, 50),
            latency_p99_ms=percentile_ms(latencies_s, 99),
            latency_max_ms=None if slowest_s is None else slowest_s * MILLISECONDS_PER_SECOND,
            client_rss_bytes_max=self.clients.resident_bytes_max,
            bookie_rss_bytes_max=bookies.resident_bytes_max if bookies else None,
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
    "latency_max_ms",
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

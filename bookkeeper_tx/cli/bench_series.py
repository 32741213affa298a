"""All workloads with one kind of payload, several runs of each, on one cluster."""

from collections.abc import Awaitable, Callable
from typing import Any

from attrs import asdict, frozen
from rich.console import Console
from twisted.internet import task
from twisted.internet.threads import deferToThread

from bookkeeper_tx.cli import loopback, workloads
from bookkeeper_tx.cli.bench_cluster import ENTRY_OVERHEAD, BenchCluster
from bookkeeper_tx.cli.connect import connected
from bookkeeper_tx.cli.measurement import Measured, Stopwatch, best, median
from bookkeeper_tx.cli.payloads import distinct_payloads, total_size
from bookkeeper_tx.cli.process_cpu import usage
from bookkeeper_tx.cli.workloads import Worked
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.client.ledger_reader import LedgerReader
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import DigestType

ONE_AT_A_TIME_ENTRIES = 2000
WARM_UP_ENTRIES = 2000
POLL_INTERVAL_S = 0.05
MICROSECONDS = 1e6

ADDS = "adds"
ONE_AT_A_TIME = "adds, one at a time"
RANGE = "range of single reads"
SINGLES = "single reads, a Deferred each"
BATCHES = f"batch reads, {workloads.BATCH_ENTRIES} a batch"


class BenchFailed(BookKeeperError):
    """What was read is not what was written."""


@frozen
class Series:
    """One kind of payload."""

    entries: int
    """Entries of a run."""
    payload_size: int
    """Bytes, the mean of them if they vary."""
    variable: bool
    """Whether sizes vary within half of the mean."""
    runs: int
    replicas: int
    window: int
    """Operations in flight where each has a Deferred."""

    @property
    def stored_bytes(self) -> int:
        """Bytes of a run as a bookie stores them."""
        return total_size(self.entries, self.payload_size, self.variable) + self.entries * ENTRY_OVERHEAD


class _FlushCounter:
    """Counts how often a bookie's lastMark was replaced, by looking at it now and then."""

    def __init__(self, cluster: BenchCluster, reactor: Any) -> None:
        self._cluster = cluster
        self._seen = self._now()
        self.flushes = 0
        self._call = task.LoopingCall(self._look)
        self._call.clock = reactor
        self._call.start(POLL_INTERVAL_S, now=False)

    def stop(self) -> int:
        self._look()
        self._call.stop()
        return self.flushes

    def _look(self) -> None:
        now = self._now()
        if now != self._seen:
            self.flushes += 1
            self._seen = now

    def _now(self) -> list[int]:
        return [path.stat().st_mtime_ns for path in self._cluster.last_marks()]


class SeriesRun:
    """The runs of one series under way."""

    def __init__(self, reactor: Any, series: Series, cluster: BenchCluster, client: BookKeeper, progress: Console):
        self._reactor = reactor
        self._series = series
        self._cluster = cluster
        self._client = client
        self._progress = progress
        self._payloads = distinct_payloads(series.payload_size, series.variable)
        self._measured: dict[str, list[Measured]] = {}
        self._bookie: list[dict[str, int]] = []

    async def run(self) -> dict[str, Any]:
        """Warm up, then do every workload as often as asked; return all figures."""
        await self._once(WARM_UP_ENTRIES)
        self._measured.clear()
        self._bookie.clear()
        limits = await deferToThread(self._limits)
        for number in range(1, self._series.runs + 1):
            self._progress.print(f"{self._title}: run {number} of {self._series.runs}")
            await self._once(self._series.entries)
        return {
            **asdict(self._series),
            "digest_type": DigestType.CRC32C.name,
            "bookie_settings": self._cluster.settings,
            **limits,
            "one_add_p50_over_limit": self._one_add_ratio(limits),
            "bookie_after_each_run": self._bookie,
            "workloads": [
                {
                    "workload": name,
                    "best": best(runs),
                    "median": median(runs),
                    "runs": [run.as_dictionary() for run in runs],
                }
                for name, runs in self._measured.items()
            ],
        }

    @property
    def _title(self) -> str:
        kind = "variable" if self._series.variable else "equal"
        return f"{self._series.entries:,} entries of {self._series.payload_size} B, {kind} sizes"

    async def _once(self, entries: int) -> None:
        ledger_id = await self._write(entries)
        reader = await self._client.open_ledger(ledger_id)
        await self._read(reader, entries)
        reader.close()
        await self._write_one_at_a_time(min(entries, ONE_AT_A_TIME_ENTRIES))

    async def _write(self, entries: int) -> int:
        writer = await self._new_ledger()
        counter = _FlushCounter(self._cluster, self._reactor)
        logs = self._cluster.entry_logs()
        await self._measure(ADDS, workloads.adds(writer, self._payloads, entries, self._series.window))
        flushes = counter.stop()
        if self._cluster.pids:
            now = usage(*self._cluster.pids)
            self._bookie.append(
                {
                    "rss_bytes": now.resident_bytes,
                    "rss_bytes_max": now.resident_bytes_max,
                    "flushes_seen": flushes,
                    "log_rolls": self._cluster.entry_logs() - logs,
                }
            )
        await writer.close()
        return int(writer.ledger_id)

    async def _read(self, reader: LedgerReader, entries: int) -> None:
        expected = total_size(entries, self._series.payload_size, self._series.variable)
        work: dict[str, Callable[[], Awaitable[Worked]]] = {
            RANGE: lambda: workloads.range_of_single_reads(reader, entries),
            SINGLES: lambda: workloads.single_reads(reader, entries, self._series.window),
            BATCHES: lambda: workloads.batch_reads(reader, entries),
        }
        for name, start in work.items():
            measured = await self._measure(name, start())
            if measured.size != expected:
                raise BenchFailed(f"{name}: read {measured.size} payload bytes, {expected} were written")

    async def _write_one_at_a_time(self, entries: int) -> None:
        writer = await self._new_ledger()
        await self._measure(ONE_AT_A_TIME, workloads.adds_one_at_a_time(writer, self._payloads, entries))
        await writer.close()

    async def _new_ledger(self) -> Any:
        replicas = self._series.replicas
        return await self._client.create_ledger(replicas, replicas, replicas, DigestType.CRC32C)

    async def _measure(self, name: str, work: Awaitable[Worked]) -> Measured:
        watch = Stopwatch(self._cluster.pids)
        measured = watch.stop(*await work)
        self._measured.setdefault(name, []).append(measured)
        return measured

    def _limits(self) -> dict[str, float]:
        """Return what one add cannot do without, microseconds each."""
        entry_size = self._series.payload_size + ENTRY_OVERHEAD
        return {
            "fdatasync_p50_us": round(loopback.fdatasync_p50_s(self._cluster.directory) * MICROSECONDS, 1),
            "loopback_round_trip_p50_us": round(loopback.round_trip_p50_s(entry_size) * MICROSECONDS, 1),
        }

    def _one_add_ratio(self, limits: dict[str, float]) -> float | None:
        p50_ms = best(self._measured[ONE_AT_A_TIME])["latency_p50_ms"]
        if p50_ms is None:
            return None
        return round(p50_ms * 1000 / (limits["fdatasync_p50_us"] + limits["loopback_round_trip_p50_us"]), 2)


async def run_series(reactor: Any, series: Series, cluster: BenchCluster, progress: Console) -> dict[str, Any]:
    """Measure one series on a cluster that runs; return all figures."""
    async with connected(reactor, cluster.metadata_uri) as client:
        return await SeriesRun(reactor, series, cluster, client, progress).run()

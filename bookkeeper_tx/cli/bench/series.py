"""All workloads with one kind of payload, several runs of each, on one cluster."""

import statistics
from collections.abc import Awaitable, Callable
from typing import Any

from attrs import asdict, frozen
from rich.console import Console
from twisted.internet import task
from twisted.internet.threads import deferToThread

from bookkeeper_tx.cli.bench import loopback, workloads
from bookkeeper_tx.cli.bench.cluster import ENTRY_OVERHEAD, BenchCluster
from bookkeeper_tx.cli.bench.measurement import Measured, Stopwatch, best, median
from bookkeeper_tx.cli.bench.payloads import distinct_payloads, total_size
from bookkeeper_tx.cli.bench.process_cpu import usage
from bookkeeper_tx.cli.bench.workloads import Worked
from bookkeeper_tx.cli.connect import connected
from bookkeeper_tx.client.client import BookKeeper
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.config import ClientConfig, WireProtocol
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import DigestType

ONE_AT_A_TIME_ENTRIES = 2000
ONE_AT_A_TIME_SHARE = 10
"""One add at a time takes long: a tenth of the entries, and no more than the number above."""
WARM_UP_ENTRIES = 2000
POLL_INTERVAL_S = 0.05
MICROSECONDS = 1e6
MICROSECONDS_PER_MILLISECOND = 1e3


class BenchFailed(BookKeeperError):
    """The entries read are not those written."""


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
    protocol: str = WireProtocol.V2.value
    """The protocol version of adds and reads."""

    @property
    def title(self) -> str:
        kind = "variable" if self.variable else "equal"
        return f"{self.entries:,} entries of {self.payload_size:,} B, {kind} sizes, {self.protocol.upper()}"

    @property
    def stored_bytes(self) -> int:
        """Bytes of a run as a bookie stores them."""
        return total_size(self.entries, self.payload_size, self.variable) + self.entries * ENTRY_OVERHEAD


class _FlushCounter:
    """Counts how often a bookie's lastMark was replaced, by polling the file."""

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

    def __init__(
        self, reactor: Any, series: Series, cluster: BenchCluster, client: BookKeeper, progress: Console
    ) -> None:
        self._reactor = reactor
        self._series = series
        self._cluster = cluster
        self._client = client
        self._progress = progress
        self._payloads = distinct_payloads(series.payload_size, series.variable)
        self._measured: dict[str, list[Measured]] = {}
        self._one_add: list[dict[str, float]] = []
        self._bookie: list[dict[str, int]] = []

    async def run(self) -> dict[str, Any]:
        """Warm up, then do every workload as often as asked; return all figures."""
        await self._once(min(WARM_UP_ENTRIES, self._series.entries))
        self._measured, self._one_add, self._bookie = {}, [], []
        for number in range(1, self._series.runs + 1):
            self._progress.print(f"{self._series.title}: run {number} of {self._series.runs}")
            await self._once(self._series.entries)
        return {
            **asdict(self._series),
            "digest_type": DigestType.CRC32C.name,
            "bookie_settings": self._cluster.settings,
            "one_add": {
                "best_ratio": min(each["ratio"] for each in self._one_add),
                "median_ratio": statistics.median(each["ratio"] for each in self._one_add),
                "runs": self._one_add,
            },
            "bookie_after_adds": self._bookie,
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

    async def _once(self, entries: int) -> None:
        ledger_id = await self._write(entries)
        reader = await self._client.open_ledger(ledger_id)
        await self._measure(workloads.range_of_single_reads, reader, entries)
        await self._measure(workloads.single_reads, reader, entries, self._series.window)
        await self._measure(workloads.batch_reads, reader, entries)
        reader.close()
        await self._write_one_at_a_time(min(entries // ONE_AT_A_TIME_SHARE, ONE_AT_A_TIME_ENTRIES))

    async def _write(self, entries: int) -> int:
        writer = await self._new_ledger()
        counter = _FlushCounter(self._cluster, self._reactor)
        logs = self._cluster.entry_logs()
        await self._measure(workloads.adds, writer, self._payloads, entries, self._series.window)
        flushes = counter.stop()
        await writer.close()
        if self._cluster.pids:
            now = usage(*self._cluster.pids)
            rolls = self._cluster.entry_logs() - logs
            self._bookie.append(
                {
                    "rss_bytes": now.resident_bytes,
                    "rss_bytes_max": now.resident_bytes_max,
                    "flushes_seen": flushes,
                    "log_rolls": rolls,
                }
            )
        return writer.ledger_id

    async def _write_one_at_a_time(self, entries: int) -> None:
        writer = await self._new_ledger()
        # Measured right before the adds, while the disk is as fast or slow as for them.
        limits = await deferToThread(self._limits_us)
        measured = await self._measure(workloads.adds_one_at_a_time, writer, self._payloads, entries)
        await writer.close()
        assert measured.latency_p50_ms is not None
        p50_us = measured.latency_p50_ms * MICROSECONDS_PER_MILLISECOND
        self._one_add.append({"p50_us": round(p50_us, 1), **limits, "ratio": round(p50_us / sum(limits.values()), 2)})

    async def _new_ledger(self) -> LedgerWriter:
        replicas = self._series.replicas
        return await self._client.create_ledger(replicas, replicas, replicas, DigestType.CRC32C)

    async def _measure(self, workload: Callable[..., Awaitable[Worked]], *arguments: Any) -> Measured:
        watch = Stopwatch(self._cluster.pids)
        measured = watch.stop(*await workload(*arguments))
        expected = total_size(measured.entries, self._series.payload_size, self._series.variable)
        if measured.size != expected:
            raise BenchFailed(f"{workload.__name__} moved {measured.size} payload bytes, {expected} were expected")
        self._measured.setdefault(workload.__name__, []).append(measured)
        return measured

    def _limits_us(self) -> dict[str, float]:
        """Return the times of the unavoidable parts of one add, microseconds each."""
        entry_size = self._series.payload_size + ENTRY_OVERHEAD
        return {
            "fdatasync_p50_us": round(loopback.fdatasync_p50_s(self._cluster.directory) * MICROSECONDS, 1),
            "loopback_round_trip_p50_us": round(loopback.round_trip_p50_s(entry_size) * MICROSECONDS, 1),
        }


async def run_series(reactor: Any, series: Series, cluster: BenchCluster, progress: Console) -> dict[str, Any]:
    """Measure one series on a cluster that runs; return all figures."""
    async with connected(reactor, cluster.metadata_uri, ClientConfig(protocol=series.protocol)) as client:
        return await SeriesRun(reactor, series, cluster, client, progress).run()

"""All workloads with one kind of payload, several runs of each, on one cluster."""

import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from attrs import asdict, define, evolve, field, frozen
from rich.console import Console

from bookkeeper_tx.cli.bench import load_process, loopback
from bookkeeper_tx.cli.bench.cluster import ENTRY_OVERHEAD, BenchCluster
from bookkeeper_tx.cli.bench.flushes import FlushCounter
from bookkeeper_tx.cli.bench.load_clients import LoadClients
from bookkeeper_tx.cli.bench.load_process import TWISTED
from bookkeeper_tx.cli.bench.measurement import Measured, best, median
from bookkeeper_tx.cli.bench.payloads import VARIABLE, payload_lengths, total_size
from bookkeeper_tx.cli.bench.process_cpu import usage
from bookkeeper_tx.cli.bench.workloads import (
    BATCH_ENTRIES,
    BATCHES_IN_FLIGHT,
    ONE_BY_ONE_SHARE,
    PUBLISHED_BATCHES,
)
from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.errors import BookKeeperError
from bookkeeper_tx.model import DigestType

ADDS: Final = "adds"
RANGE_OF_SINGLE_READS: Final = "range_of_single_reads"
SINGLE_READS: Final = "single_reads"
BATCH_READS: Final = "batch_reads"
BULK_ADDS: Final = "bulk_adds"
READS_BESIDE_ADDS: Final = "reads_beside_adds"
ADDS_ONE_AT_A_TIME: Final = "adds_one_at_a_time"

READS_ONE_AT_A_TIME: Final = "reads_one_at_a_time"

BATCHES: Final = {f"batches_of_{batch}": batch for batch in PUBLISHED_BATCHES}
"""Workload → entries of a batch: with :data:`READS_ONE_AT_A_TIME` the table that BP-62 has, a request in flight."""
READS: Final = (RANGE_OF_SINGLE_READS, SINGLE_READS, BATCH_READS, *BATCHES, READS_ONE_AT_A_TIME)
WORKLOADS: Final = (ADDS, *READS, BULK_ADDS, READS_BESIDE_ADDS, ADDS_ONE_AT_A_TIME)

ONE_AT_A_TIME_ENTRIES = 2000
ONE_AT_A_TIME_SHARE = 10
"""One add at a time takes long: a tenth of the entries, and no more than the number above."""
WARM_UP_ENTRIES = 2000
WARM_UP_LEDGERS = 100
MICROSECONDS = 1e6
MICROSECONDS_PER_MILLISECOND = 1e3


class BenchFailed(BookKeeperError):
    """The entries read are not those written."""


@frozen(slots=False)
class Series:
    """One kind of payload, and the shape of the load."""

    entries: int
    """Entries of a run, of all clients together."""
    payload_size: int
    """Bytes, the mean of them if they differ."""
    runs: int
    sizes: str = VARIABLE
    ledgers: int = 1
    """Ledgers of each client."""
    clients: int = 1
    ensemble: int = 1
    write_quorum: int = 1
    ack_quorum: int = 1
    window: int = 1000
    """Operations in flight of each client, where each has a promise."""
    protocol: str = WireProtocol.V2.value
    """The protocol version of adds and reads."""
    face: str = TWISTED
    """The face of the clients."""
    workloads: tuple[str, ...] = WORKLOADS

    @property
    def title(self) -> str:
        """The series in a line."""
        clients = f"{self.clients} clients of " if self.clients > 1 else ""
        return (
            f"{self.entries:,} entries of {self.payload_size:,} B ({self.sizes} sizes), {clients}{self.ledgers:,} "
            f"{'ledger' if self.ledgers == 1 else 'ledgers'}, E={self.ensemble} Qw={self.write_quorum} "
            f"Qa={self.ack_quorum}, {self.protocol.upper()}{'' if self.face == TWISTED else f', {self.face}'}"
        )

    @property
    def quorums(self) -> dict[str, int]:
        """How ledgers are created."""
        return {"ensemble": self.ensemble, "write_quorum": self.write_quorum, "ack_quorum": self.ack_quorum}

    @property
    def entries_of_each(self) -> int:
        """Entries of a run, of one client."""
        return max(1, self.entries // self.clients)

    @cached_property
    def lengths(self) -> list[int]:
        """The lengths of the payloads, which each client repeats."""
        return payload_lengths(self.payload_size, self.sizes)

    @property
    def stored_bytes(self) -> int:
        """Bytes of the entries of a run, each stored once."""
        return total_size(self.entries, self.lengths) + self.entries * ENTRY_OVERHEAD

    def chosen(self, *names: str) -> list[str]:
        """Return which of these workloads are wanted and can be: no bookie of a striped ledger serves batches."""
        return [
            name
            for name in names
            if name in self.workloads and (name not in (BATCH_READS, *BATCHES) or self.ensemble == self.write_quorum)
        ]


@define
class SeriesRun:
    """The runs of one series under way."""

    series: Series
    cluster: BenchCluster
    clients: LoadClients
    progress: Console
    _measured: dict[str, list[Measured]] = field(factory=dict, init=False)
    _one_add: list[dict[str, float]] = field(factory=list, init=False)
    _bookie: list[dict[str, int]] = field(factory=list, init=False)
    _loop_us: float = field(default=0.0, init=False)

    @property
    def _warming_up(self) -> Series:
        series = self.series
        entries, ledgers = min(WARM_UP_ENTRIES, series.entries), min(WARM_UP_LEDGERS, series.ledgers)
        return evolve(series, entries=entries, ledgers=ledgers)

    def warm_up(self) -> None:
        """Make the clients ready, and do every workload once without measuring it."""
        ready = self.clients.ask("ready", lengths=self.series.lengths)
        self._loop_us = statistics.median(float(each["loop_us"]) for each in ready)
        self._once(self._warming_up)
        self._measured, self._one_add, self._bookie = {}, [], []

    def run(self, number: int) -> None:
        """Do every workload once."""
        self.progress.print(f"{self.series.title}: run {number} of {self.series.runs}")
        self._once(self.series)

    @property
    def figures(self) -> dict[str, Any]:
        """All that was measured."""
        series = self.series
        return {
            "title": series.title,
            **asdict(series, filter=lambda attribute, _: attribute.name != "workloads"),
            "digest_type": DigestType.CRC32C.name,
            "bookie_settings": self.cluster.settings,
            "loop_cpu_us_per_entry": self._loop_us,
            "one_add": _of_one_add(self._one_add),
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

    def _once(self, series: Series) -> None:
        """Write ledgers and read them; then write others, while the first are read."""
        chosen = series.chosen
        if chosen(ADDS, *READS, READS_BESIDE_ADDS):
            self._create(series)
            self._add(series)
            if chosen(*READS, READS_BESIDE_ADDS):
                self.clients.ask("open")
            for name in chosen(*READS):
                self._read(name, series.entries_of_each)
        if chosen(BULK_ADDS, READS_BESIDE_ADDS, ADDS_ONE_AT_A_TIME):
            self._create(series)
            for name in chosen(BULK_ADDS, READS_BESIDE_ADDS):
                self._measure(name, series.entries_of_each, self._options(name))
            if chosen(ADDS_ONE_AT_A_TIME):
                self._add_one_at_a_time(series.entries_of_each)
        self.clients.ask("close")

    def _read(self, name: str, entries: int) -> None:
        if name in BATCHES:
            self._measure(name, entries, {"batch": BATCHES[name], "window": 1}, verb=BATCH_READS)
        elif name == READS_ONE_AT_A_TIME:
            self._measure(name, max(1, entries // ONE_BY_ONE_SHARE), {"window": 1}, verb=SINGLE_READS)
        else:
            self._measure(name, entries, self._options(name))

    def _options(self, name: str) -> dict[str, int]:
        if name == BATCH_READS:
            return {"batch": BATCH_ENTRIES, "window": BATCHES_IN_FLIGHT}
        return {"window": self.series.window}

    def _create(self, series: Series) -> None:
        self.clients.ask("create", ledgers=series.ledgers, **series.quorums)

    def _add(self, series: Series) -> None:
        logs = self.cluster.entry_logs()
        with FlushCounter(self.cluster) as counter:
            self._measure(ADDS, series.entries_of_each, self._options(ADDS))
        if self.cluster.pids:
            now = usage(*self.cluster.pids)
            self._bookie.append(
                {
                    "rss_bytes": now.resident_bytes,
                    "rss_bytes_max": now.resident_bytes_max,
                    "flushes_seen": counter.flushes,
                    "log_rolls": self.cluster.entry_logs() - logs,
                }
            )

    def _add_one_at_a_time(self, entries: int) -> None:
        # Measured right before the adds, while the disk is as fast or slow as for them.
        limits = self._limits_us()
        count = max(1, min(entries // ONE_AT_A_TIME_SHARE, ONE_AT_A_TIME_ENTRIES // self.series.clients))
        measured = self._measure(ADDS_ONE_AT_A_TIME, count, {"window": 1}, verb=ADDS)
        assert measured.latency_p50_ms is not None
        p50_us = measured.latency_p50_ms * MICROSECONDS_PER_MILLISECOND
        self._one_add.append({"p50_us": round(p50_us, 1), **limits, "ratio": round(p50_us / sum(limits.values()), 2)})

    def _measure(self, name: str, entries: int, options: Mapping[str, int], verb: str = "") -> Measured:
        measured = self.clients.measure(self.cluster.pids, verb or name, entries=entries, **options)
        expected = self._expected_bytes(name, entries) * self.series.clients
        if measured.size != expected:
            raise BenchFailed(f"{name} moved {measured.size} payload bytes, {expected} were expected")
        self._measured.setdefault(name, []).append(measured)
        return measured

    def _expected_bytes(self, name: str, entries: int) -> int:
        if name == READS_BESIDE_ADDS:
            return 2 * total_size(max(1, entries // 2), self.series.lengths)
        return total_size(entries, self.series.lengths)

    def _limits_us(self) -> dict[str, float]:
        """Return the times of the unavoidable parts of one add, microseconds each."""
        entry_size = self.series.payload_size + ENTRY_OVERHEAD
        return {
            "fdatasync_p50_us": round(loopback.fdatasync_p50_s(self.cluster.directory) * MICROSECONDS, 1),
            "loopback_round_trip_p50_us": round(loopback.round_trip_p50_s(entry_size) * MICROSECONDS, 1),
        }


def run_in_turns(group: Sequence[Series], cluster: BenchCluster, progress: Console) -> list[dict[str, Any]]:
    """Measure series on a cluster that runs, a run of each in turns; return all figures of each.

    What else the machine does meanwhile is then about the same for all of them.
    """
    with ExitStack() as started:
        runs = []
        for index, series in enumerate(group):
            clients = load_clients(series, cluster.metadata_uri, cluster.directory / f"clients-{index}")
            runs.append(SeriesRun(series, cluster, started.enter_context(clients), progress))
        for each in runs:
            each.warm_up()
        for number in range(1, group[0].runs + 1):
            for each in runs:
                each.run(number)
        return [each.figures for each in runs]


def load_clients(series: Series, metadata_uri: str, directory: Path) -> LoadClients:
    """Return the client processes of a series; they are not started yet."""
    return LoadClients([load_process.command(metadata_uri, series.protocol, series.face)] * series.clients, directory)


def _of_one_add(runs: list[dict[str, float]]) -> dict[str, Any] | None:
    if not runs:
        return None
    ratios = [each["ratio"] for each in runs]
    return {"best_ratio": min(ratios), "median_ratio": statistics.median(ratios), "runs": runs}

"""The same workloads on our client and bookie and on others', in turns, with the ratios of their figures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import define, evolve, field, frozen
from rich.console import Console

from bookkeeper_tx.cli.bench.load_clients import LoadClients
from bookkeeper_tx.cli.bench.measurement import Measured, median
from bookkeeper_tx.cli.bench.payloads import EQUAL, payload_lengths, total_size
from bookkeeper_tx.cli.bench.series import BenchFailed
from bookkeeper_tx.cli.bench.workloads import ONE_BY_ONE_SHARE, PUBLISHED_BATCHES

ENSEMBLE: Final = {"ensemble": 1, "write_quorum": 1, "ack_quorum": 1}

WARM_UP_ENTRIES: Final = 200_000
"""After so many entries of each workload a JVM has compiled what matters."""

LEDGERS: Final = (1, 10, 1000)
"""Ledgers written and read in turns, a table's row each."""

INTERLEAVED: Final = "interleaved"
BP_62: Final = "BP-62"


@frozen
class Side:
    """A client and the bookies that it uses."""

    name: str
    command: list[str]
    """Runs the client."""
    pids: Sequence[int]
    """Of the bookies."""


@frozen
class Step:
    """One workload, which is a row."""

    table: str
    row: str
    verb: str
    entries: int
    options: Mapping[str, int] = field(hash=False)


@frozen
class Comparison:
    """What is compared."""

    entries: int
    payload_size: int
    runs: int
    """Those after the first, which warms up and is not counted."""
    window: int = 1000
    protocol: str = "v2"
    ledgers: Sequence[int] = LEDGERS
    warm_up_entries: int = WARM_UP_ENTRIES
    """At least as many are written and read to warm up."""

    @property
    def warming_up(self) -> "Comparison":
        """The same with the entries that warm up."""
        return evolve(self, entries=max(self.entries, self.warm_up_entries))

    def steps(self, ledgers: int) -> tuple[list[Step], list[Step]]:
        """Return what is written to so many ledgers, and how it is read."""
        window = {"window": self.window}
        name = "1 ledger" if ledgers == 1 else f"{ledgers:,} ledgers"
        reads = [Step(INTERLEAVED, f"single reads, {name}", "single_reads", self.entries, window)]
        if ledgers == 1:
            reads += self._published()
        return [Step(INTERLEAVED, f"adds, {name}", "adds", self.entries, window)], reads

    def _published(self) -> Iterator[Step]:
        """Yield the rows of the table that BP-62 has: one request in flight.  Java batches over V2 only."""
        if self.protocol == "v2":
            for batch in PUBLISHED_BATCHES:
                options = {"batch": batch, "window": 1}
                yield Step(BP_62, f"batches of {batch}", "batch_reads", self.entries, options)
        share = max(1, self.entries // ONE_BY_ONE_SHARE)
        yield Step(BP_62, "one by one", "single_reads", share, {"window": 1})


@define
class ComparisonRun:
    """Both sides under way."""

    comparison: Comparison
    sides: Sequence[tuple[Side, LoadClients]]
    """Ours first."""
    progress: Console
    _measured: dict[Step, dict[str, list[Measured]]] = field(factory=dict, init=False)
    _lengths: list[int] = field(factory=list, init=False)

    def run(self) -> list[dict[str, Any]]:
        """Warm up with every step, then do each as often as asked, on both sides in turns; return the rows."""
        self._lengths = payload_lengths(self.comparison.payload_size, EQUAL)
        self._ask("ready", lengths=self._lengths)
        for number in range(self.comparison.runs + 1):
            what = f"run {number} of {self.comparison.runs}" if number else "warming up"
            for ledgers in self.comparison.ledgers:
                self.progress.print(f"{what}: {ledgers:,} ledgers")
                if number:
                    self._once(*self.comparison.steps(ledgers), ledgers, counted=True)
                else:
                    self._once(*self.comparison.warming_up.steps(ledgers), ledgers, counted=False)
        return [_row(step, measured) for step, measured in self._measured.items()]

    def _once(self, writes: Sequence[Step], reads: Sequence[Step], ledgers: int, counted: bool) -> None:
        self._ask("create", ledgers=ledgers, **ENSEMBLE)
        for step in writes:
            self._measure(step, counted)
        self._ask("open")
        for step in reads:
            self._measure(step, counted)
        self._ask("close")

    def _ask(self, verb: str, **values: object) -> None:
        for _, clients in self.sides:
            clients.ask(verb, **values)

    def _measure(self, step: Step, counted: bool) -> None:
        expected = total_size(step.entries, self._lengths)
        for side, clients in self.sides:
            measured = clients.measure(side.pids, step.verb, entries=step.entries, **step.options)
            if measured.size != expected:
                raise BenchFailed(
                    f"{side.name}: {step.row} moved {measured.size} payload bytes, {expected} were expected"
                )
            if counted:
                self._measured.setdefault(step, {}).setdefault(side.name, []).append(measured)


def _row(step: Step, measured: Mapping[str, Sequence[Measured]]) -> dict[str, Any]:
    medians = {name: median(runs) for name, runs in measured.items()}
    ours, theirs = medians.values()
    return {
        "table": step.table,
        "row": step.row,
        "entries": step.entries,
        **medians,
        "ratios": ratios(ours, theirs),
        "runs": {name: [run.as_dictionary() for run in runs] for name, runs in measured.items()},
    }


def ratios(ours: Mapping[str, float | None], theirs: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return how many times theirs our figures are: rates, CPU of client, of bookie, and of both together."""
    client, bookie = "client_cpu_us_per_entry", "bookie_cpu_us_per_entry"
    return {
        "entries_per_s": _ratio(ours["entries_per_s"], theirs["entries_per_s"]),
        client: _ratio(ours[client], theirs[client]),
        bookie: _ratio(ours[bookie], theirs[bookie]),
        "cpu_us_per_entry": _ratio(_sum(ours[client], ours[bookie]), _sum(theirs[client], theirs[bookie])),
        "latency_p99_ms": _ratio(ours["latency_p99_ms"], theirs["latency_p99_ms"]),
    }


def _ratio(ours: float | None, theirs: float | None) -> float | None:
    return round(ours / theirs, 4) if ours is not None and theirs else None


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other

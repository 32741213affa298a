"""``bktx bench spark``: reading, exporting, writing and planning with Spark on this machine, one bookie of our own."""

import json
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from attrs import frozen
from rich.console import Console

from bookkeeper_tx.cli.bench import planning, spark_report
from bookkeeper_tx.cli.bench import report as bench_report
from bookkeeper_tx.cli.bench.cluster import ENTRY_OVERHEAD, own_cluster
from bookkeeper_tx.cli.bench.measurement import Stopwatch
from bookkeeper_tx.cli.bench.planning_stores import planning_store
from bookkeeper_tx.cli.bench.spark_processes import SparkRun, median_of, peak_memory_of_workers
from bookkeeper_tx.cli.bench.spark_workloads import TASKS, SparkBench, fill
from bookkeeper_tx.cli.run import everything_stopped_on_signals
from bookkeeper_tx.config import MIB
from bookkeeper_tx.errors import InvalidArgument

ENTRIES = 10_000_000
ENTRIES_QUICK = 100_000
SINK_SHARE = 5
"""A fifth of the entries is written by the sink, from memory."""
LEDGERS = 100_000
LEDGERS_QUICK = 2_000
RUNS = 3
RUNS_QUICK = 1
PART_SHARE = 10
"""A tenth of the ledger warms up; the workers' memory is looked at after a read of it, and after one of all."""
PACKAGES = ("pyspark", "pyarrow", "numpy")
SETTINGS = {"spark.log.level": "ERROR"}


@frozen
class Size:
    """How much is measured."""

    entries: int
    payload_size: int
    runs: int
    ledgers: int

    @property
    def part(self) -> int:
        """Entries of the reads that warm up."""
        return max(1, self.entries // PART_SHARE)

    @property
    def sink_rows(self) -> int:
        return max(1, self.entries // SINK_SHARE)

    @property
    def stored_bytes(self) -> int:
        """Bytes of all entries as a bookie stores them, those of the sink and of its first, cold run among them."""
        rows = self.entries + self.sink_rows * (self.runs + 1)
        return rows * (self.payload_size + ENTRY_OVERHEAD)


@click.command()
@click.option(
    "--metadata",
    "metadata_uri",
    metavar="URI",
    help="ZooKeeper, with a root that is not there yet, for the ledgers to plan over: made, and deleted afterwards. "
    "Default: an SQLite file.",
)
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="New or empty directory for the bookie's data and Parquet files; default: a temporary one.",
)
@click.option(
    "--entries", type=click.IntRange(100), help=f"Entries of the ledger that is read.  [default: {ENTRIES:,}]"
)
@click.option(
    "--size",
    "payload_size",
    type=click.IntRange(1, 4 * MIB),
    default=100,
    show_default=True,
    help="Payload bytes of an entry.",
)
@click.option("--runs", type=click.IntRange(1), help=f"Runs of each workload.  [default: {RUNS}]")
@click.option("--ledgers", type=click.IntRange(1), help=f"Ledgers to plan over.  [default: {LEDGERS:,}]")
@click.option(
    "--quick", is_flag=True, help=f"{ENTRIES_QUICK:,} entries, {LEDGERS_QUICK:,} ledgers, {RUNS_QUICK} run of each."
)
@click.option("--json", "as_json", is_flag=True, help="Print everything measured, each run of it, as JSON.")
def spark(
    metadata_uri: str | None,
    directory: Path | None,
    entries: int | None,
    payload_size: int,
    runs: int | None,
    ledgers: int | None,
    quick: bool,
    as_json: bool,
) -> None:
    """Measure Spark with one bookie of our own: reads, export to Parquet, the sink, and planning over many ledgers.

    The session is local[2], and shares the cores with the bookie.  CPU is that of the Python workers, of the JVM and of
    the bookie, all threads, per row.  A first run of each workload warms up and does not count.

    \b
    bktx bench spark --quick
    bktx bench spark --json > figures.json
    bktx bench spark --metadata zk://127.0.0.1:2181/planning
    """
    _check_installed()
    if directory is not None and directory.exists() and any(directory.iterdir()):
        raise InvalidArgument(f"{directory} is not empty: give a new directory")
    size = Size(
        entries=entries or (ENTRIES_QUICK if quick else ENTRIES),
        payload_size=payload_size,
        runs=runs or (RUNS_QUICK if quick else RUNS),
        ledgers=ledgers or (LEDGERS_QUICK if quick else LEDGERS),
    )
    progress = Console(stderr=True, highlight=False)
    with (
        everything_stopped_on_signals(),
        tempfile.TemporaryDirectory(prefix="bktx-bench-", ignore_cleanup_errors=True) as temporary,
    ):
        report = measure(size, metadata_uri, directory or Path(temporary), progress)
    if as_json:
        click.echo(json.dumps(report, indent=2))
    else:
        spark_report.show(report, Console(highlight=False))


def _check_installed() -> None:
    """Raise UsageError where Spark is not installed."""
    for name in PACKAGES:
        if find_spec(name) is None:
            raise click.UsageError(f"{name} is not installed: pip install 'bookkeeper_tx[spark]'")


def measure(size: Size, planning_uri: str | None, directory: Path, progress: Console) -> dict[str, Any]:
    """Start bookie and session, measure everything, stop them; return all figures."""
    from bookkeeper_tx.spark.session import local_session, register_all

    cluster = own_cluster(directory.absolute() / "bookies", size.stored_bytes, 1, 1)
    assert cluster.local is not None
    with cluster.local as local:
        progress.print("waiting for a Spark session")
        session = local_session(
            "bktx bench spark",
            master=f"local[{TASKS}]",
            settings={**SETTINGS, "spark.local.dir": str(directory.absolute() / "spark")},
        )
        try:
            register_all(session)
            progress.print(f"writing a ledger of {size.entries:,} entries")
            pid = local.bookies[0].pid
            assert pid is not None
            watch = Stopwatch([pid])
            ledger_id = fill(local.metadata_uri, size.entries, size.payload_size)
            filled = watch.stop(size.entries, size.entries * size.payload_size)
            bench = SparkBench(
                spark=session,
                metadata_uri=local.metadata_uri,
                bookie_pid=pid,
                directory=directory.absolute(),
                payload_size=size.payload_size,
                ledger_id=ledger_id,
            )
            memory = _memory(bench, size, progress)
            runs = {**_reads(bench, size, progress), "sink": _sink(bench, size, progress)}
            with planning_store(planning_uri, directory.absolute(), size.ledgers) as store:
                progress.print(f"planning over {size.ledgers:,} ledgers")
                planned = planning.compare(store, size.ledgers, partial(planning.planned_by_spark, session), size.runs)
        finally:
            session.stop()
    return {
        "machine": {**bench_report.machine(), **_versions()},
        "entries": size.entries,
        "payload_size": size.payload_size,
        "runs": size.runs,
        "sink_rows": size.sink_rows,
        "bookie_settings": cluster.settings,
        "workloads": [
            {"workload": name, "median": median_of(each), "runs": [run.as_dictionary() for run in each]}
            for name, each in runs.items()
        ],
        "fill_without_spark": filled.as_dictionary(),
        "single_to_batch": _single_to_batch(median_of(runs["read_single"]), median_of(runs["read_batch"])),
        "worker_memory": memory,
        "planning": {
            "ledgers": size.ledgers,
            "store": "SQLite" if planning_uri is None else "ZooKeeper",
            "median": planning.median_of(planned),
            "runs": [run.as_dictionary() for run in planned],
        },
    }


def _memory(bench: SparkBench, size: Size, progress: Console) -> dict[str, int]:
    """Read a part of the ledger, then all of it; return the highest memory of any worker after each."""
    progress.print("reading a part, then everything, for the workers' memory")
    bench.read_batch(size.part)
    after_part = peak_memory_of_workers()
    bench.read_batch(size.entries)
    return {"entries_of_part": size.part, "after_part_bytes": after_part, "after_all_bytes": peak_memory_of_workers()}


def _reads(bench: SparkBench, size: Size, progress: Console) -> dict[str, list[SparkRun]]:
    """Do the workloads that read in turns, once all are warm; the memory's reads have warmed the first."""
    workloads: dict[str, Callable[[int], SparkRun]] = {
        "read_batch": bench.read_batch,
        "read_single": bench.read_single,
        "export_parquet": bench.export_parquet,
    }
    for workload in workloads.values():
        workload(size.part)
    measured: dict[str, list[SparkRun]] = {name: [] for name in workloads}
    for number in range(1, size.runs + 1):
        for name, workload in workloads.items():
            progress.print(f"{name.replace('_', ' ')}: run {number} of {size.runs}")
            measured[name].append(workload(size.entries))
    return measured


def _sink(bench: SparkBench, size: Size, progress: Console) -> list[SparkRun]:
    frame = bench.cached_rows(size.sink_rows)
    measured = []
    for number in range(size.runs + 1):
        progress.print(f"sink: {f'run {number} of {size.runs}' if number else 'warming up'}")
        measured.append(bench.write_sink(frame, size.sink_rows))
    frame.unpersist()
    return measured[1:]


def _single_to_batch(single: dict[str, float], batch: dict[str, float]) -> dict[str, float]:
    """Return how many times the figures of batch reads those of single reads are."""
    names = ("rows_per_s", "bookie_cpu_us_per_row", "worker_cpu_us_per_row")
    return {name: round(single[name] / batch[name], 4) if batch[name] else 0.0 for name in names}


def _versions() -> dict[str, str]:
    return {name: version(name) for name in PACKAGES}

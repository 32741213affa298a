"""``bktx bench storage``: classes of ledger storage beside each other, without network and clients."""

import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from bookkeeper_tx.cli.bench.process_cpu import machine_busy_ns
from bookkeeper_tx.cli.bench.report import machine
from bookkeeper_tx.cli.bench.storage_run import StorageLoad, StorageRun
from bookkeeper_tx.cli.run import run
from bookkeeper_tx.config import LEDGER_STORAGE_CLASSES

CLASSES = ("SortedLedgerStorage", "DbLedgerStorage")
"""Those that differ."""

WORKLOADS = {
    "adds": "adds",
    "cold_sequential_reads": "sequential reads, cold",
    "cold_random_reads": "random reads, cold",
    "compaction": "compaction",
    "replay": "replay",
    "start": "start",
    "stop": "stop",
}


@click.command()
@click.option(
    "--class",
    "classes",
    type=click.Choice(LEDGER_STORAGE_CLASSES),
    multiple=True,
    default=CLASSES,
    show_default=True,
    help="Class of ledger storage; may be repeated.",
)
@click.option("--entries", type=click.IntRange(1), default=1_000_000, show_default=True, help="Entries of a run.")
@click.option("--ledgers", type=click.IntRange(1), default=1000, show_default=True, help="Ledgers, which take turns.")
@click.option("--size", type=click.IntRange(1), default=100, show_default=True, help="Payload bytes of an entry.")
@click.option("--run", "run_length", type=click.IntRange(1), default=10, show_default=True, help="Entries at a time.")
@click.option(
    "--random-reads", type=click.IntRange(1), default=20_000, show_default=True, help="Entries read one by one."
)
@click.option("--runs", type=click.IntRange(1), default=3, show_default=True, help="Runs of each class, in turns.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="On the disk to be measured; default: a temporary one.",
)
@click.option("--json", "as_json", is_flag=True, help="Print all runs as JSON.")
def storage(
    classes: tuple[str, ...],
    entries: int,
    ledgers: int,
    size: int,
    run_length: int,
    random_reads: int,
    runs: int,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Measure classes of ledger storage by themselves: adds with their flushes, a start, reads with empty caches,
    the compaction of logs of which half is deleted, and the replay of a journal.

    CPU is that of all threads of this process, per entry.  Reads find the caches of the storage empty, not those of the
    system.

    \b
    bktx bench storage --entries 10000000 --ledgers 1 --run 100
    bktx bench storage --entries 1000000 --ledgers 100000 --class DbLedgerStorage --json
    """
    load = StorageLoad(entries, ledgers, size, run_length, random_reads)
    with tempfile.TemporaryDirectory(prefix="bktx-bench-", dir=directory, ignore_cleanup_errors=True) as temporary:
        measured = run(lambda reactor: _measured(reactor, Path(temporary), dict.fromkeys(classes), load, runs))
    if as_json:
        shape = {"entries": entries, "ledgers": ledgers, "size": size, "run": run_length, "runs": runs}
        click.echo(json.dumps({"machine": machine(), **shape, "classes": measured}, indent=2))
    else:
        Console(highlight=False).print(_table(measured))


async def _measured(
    reactor: Any, directory: Path, classes: dict[str, None], load: StorageLoad, runs: int
) -> dict[str, list[dict[str, Any]]]:
    """Return what each run has measured, by class."""
    measured: dict[str, list[dict[str, Any]]] = {each: [] for each in classes}
    for index in range(runs):
        for each in classes:
            one = StorageRun(reactor, directory / f"{each}-{index}", each, load)
            begun_s, before_ns = time.perf_counter(), _others_ns()
            await one.measure()
            others = (_others_ns() - before_ns) / 1e9 / (time.perf_counter() - begun_s)
            rest = {"slowest_add_s": round(one.slowest_add_s, 4), "other_cores": round(max(others, 0.0), 3)}
            measured[each].append({**one.measured, **rest})
    return measured


def _others_ns() -> int:
    """Return the CPU that all other processes of this machine have used."""
    return machine_busy_ns() - time.process_time_ns()


def _table(measured: dict[str, list[dict[str, Any]]]) -> Table:
    table = Table(title="µs of CPU an entry (entries a second), medians")
    table.add_column("")
    for each in measured:
        table.add_column(each, justify="right")
    for workload, words in WORKLOADS.items():
        cells = []
        for runs in measured.values():
            cpu, rate = (median(one[workload][figure] for one in runs) for figure in ("cpu_us", "per_s"))
            cells.append(f"{cpu / 1e6:.3g} s" if workload in ("start", "stop") else f"{cpu:.3g} ({rate:,.0f})")
        table.add_row(words, *cells)
    waits = (max(one["slowest_add_s"] for one in runs) for runs in measured.values())
    table.add_row("longest wait of an add", *(f"{wait:.3g} s" for wait in waits))
    return table

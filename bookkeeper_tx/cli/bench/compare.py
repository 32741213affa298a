"""``bktx bench compare``: Java's client and bookie beside ours in one run, as ratios."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from bookkeeper_tx.cli.bench import compare_report, load_process
from bookkeeper_tx.cli.bench import report as bench_report
from bookkeeper_tx.cli.bench.bench import ENTRIES, ENTRIES_QUICK
from bookkeeper_tx.cli.bench.comparison import LEDGERS, WARM_UP_ENTRIES, Comparison, ComparisonRun, Side
from bookkeeper_tx.cli.bench.java_side import (
    COMPARABLE,
    DEFAULT_RELEASE,
    java_side,
    jvm_origin,
    running_zookeeper,
)
from bookkeeper_tx.cli.bench.load_clients import LoadClients
from bookkeeper_tx.cli.bench.payloads import PAYLOAD_BYTES_MAX
from bookkeeper_tx.cli.run import everything_stopped_on_signals
from bookkeeper_tx.config import WireProtocol
from bookkeeper_tx.errors import InvalidArgument
from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.java.targets import new_cluster
from compat_tests.targets.zookeeper import ZooKeeper

RUNS = 3
RUNS_QUICK = 1


@click.command()
@click.option(
    "--java",
    "release",
    type=click.Choice(COMPARABLE),
    is_flag=False,
    flag_value=DEFAULT_RELEASE,
    required=True,
    help=f"Compare with Java's client and bookie, of this release.  [--java alone: {DEFAULT_RELEASE}]",
)
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="New or empty directory for the bookies' data, which is kept; default: a temporary one.",
)
@click.option("--entries", type=click.IntRange(100), help=f"Entries of a run.  [default: {ENTRIES:,}]")
@click.option(
    "--size",
    "payload_size",
    type=click.IntRange(1, PAYLOAD_BYTES_MAX),
    default=100,
    show_default=True,
    help="Payload bytes of an entry.",
)
@click.option(
    "--ledgers",
    type=click.IntRange(1),
    multiple=True,
    help="Ledgers written and read in turns; may be repeated.  [default: 1, 10, 1000]",
)
@click.option("--runs", type=click.IntRange(1), help=f"Runs of each workload that count.  [default: {RUNS}]")
@click.option("--window", type=click.IntRange(1), default=1000, show_default=True, help="Operations in flight.")
@click.option(
    "--protocol",
    type=click.Choice([each.value for each in WireProtocol]),
    default=WireProtocol.V2.value,
    show_default=True,
    help="The protocol version of adds and reads; Java has batch reads in V2 only.",
)
@click.option("--quick", is_flag=True, help=f"{ENTRIES_QUICK:,} entries, {RUNS_QUICK} run: Java is not warm then.")
@click.option("--json", "as_json", is_flag=True, help="Print everything measured, each run of it, as JSON.")
def compare(
    release: str,
    directory: Path | None,
    entries: int | None,
    runs: int | None,
    ledgers: tuple[int, ...],
    quick: bool,
    as_json: bool,
    **others: Any,
) -> None:
    """Measure Java's client on Java's bookie, and ours on ours, in turns; show the ratios.

    One bookie and one client process each, E=Qw=Qa=1, one ZooKeeper for both, the payloads and CRC32C the same.  The
    table of BP-62 is among the rows: batches of 100, of 500, and one by one, with one request in flight.  A JVM gets
    faster for as long as it compiles: before the runs that count, both do each workload once, with 200,000 entries.

    \b
    bktx bench compare --java --quick
    bktx bench compare --java --json > figures.json
    bktx bench compare --java 4.18.0 --ledgers 100 --protocol v3
    """
    if directory is not None and directory.exists() and any(directory.iterdir()):
        raise InvalidArgument(f"{directory} is not empty: give a new directory")
    comparison = Comparison(
        entries=entries or (ENTRIES_QUICK if quick else ENTRIES),
        runs=runs or (RUNS_QUICK if quick else RUNS),
        ledgers=ledgers or LEDGERS,
        warm_up_entries=0 if quick else WARM_UP_ENTRIES,
        **others,
    )
    progress = Console(stderr=True, highlight=False)
    with (
        everything_stopped_on_signals(),
        tempfile.TemporaryDirectory(prefix="bktx-bench-", ignore_cleanup_errors=True) as temporary,
    ):
        report = measure(comparison, release, (directory or Path(temporary)).absolute(), progress)
    if as_json:
        click.echo(json.dumps(report, indent=2))
    else:
        compare_report.show(report, Console(highlight=False))


def measure(comparison: Comparison, release: str, directory: Path, progress: Console) -> dict[str, Any]:
    """Start both sides, measure everything, stop them; return all figures."""
    with ExitStack() as stack:
        zookeeper = stack.enter_context(running_zookeeper(directory / "zookeeper"))
        sides = [
            stack.enter_context(our_side(zookeeper, directory / "ours", comparison.protocol)),
            stack.enter_context(java_side(release, zookeeper, directory / "java", comparison.protocol)),
        ]
        clients = [
            stack.enter_context(LoadClients([side.command], directory / "clients", f"client of {side.name}"))
            for side in sides
        ]
        rows = ComparisonRun(comparison, list(zip(sides, clients, strict=True)), progress).run()
        return {
            "machine": {**bench_report.machine(), "java": release, "jvm": jvm_origin()},
            "warm_up_entries": comparison.warming_up.entries,
            "payload_size": comparison.payload_size,
            "runs": comparison.runs,
            "window": comparison.window,
            "protocol": comparison.protocol,
            "rows": rows,
        }


@contextmanager
def our_side(zookeeper: ZooKeeper, directory: Path, protocol: str) -> Iterator[Side]:
    """Yield our bookie, which runs with its defaults, and the command of our client."""
    with LocalCluster(directory, 1, metadata_uri=new_cluster(zookeeper).uri) as cluster:
        pids = [bookie.pid for bookie in cluster.bookies if bookie.pid is not None]
        yield Side("ours", load_process.command(cluster.metadata_uri, protocol), pids)

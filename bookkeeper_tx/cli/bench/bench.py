"""``bktx bench``: rates, latencies and CPU per entry of adds and reads."""

import importlib
import json
import tempfile
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource
from rich.console import Console

from bookkeeper_tx.cli.bench import report as bench_report
from bookkeeper_tx.cli.bench.cluster import BenchCluster, given_cluster, own_cluster
from bookkeeper_tx.cli.bench.series import Series, run_series
from bookkeeper_tx.cli.run import everything_stopped_on_signals, run
from bookkeeper_tx.config import MIB, WireProtocol
from bookkeeper_tx.errors import InvalidArgument

ENTRIES = 1_000_000
ENTRIES_QUICK = 20_000
RUNS = 5
RUNS_QUICK = 2

DISTRIBUTIONS = {"equal": (False,), "variable": (True,), "both": (False, True)}
"""Value of --sizes → whether payloads vary, for each series of a payload size."""

BENCHES: Final[dict[str, tuple[str, str]]] = {
    "spark": ("spark", "Measure Spark: reads, export, the sink, planning."),
}
"""Bench → the module of this room that it lives in, and its one line of help."""


class Benches(click.Group):
    """``bktx bench`` itself, and the benches that have names; imports one when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(BENCHES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in BENCHES:
            return None
        command = getattr(importlib.import_module(f"bookkeeper_tx.cli.bench.{BENCHES[cmd_name][0]}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in BENCHES.items()])


@click.group(cls=Benches, invoke_without_command=True)
@click.option(
    "--metadata",
    "metadata_uri",
    envvar="BKTX_METADATA",
    metavar="URI",
    help="A cluster that runs; default: one bookie of our own, with the SQLite store.  [env BKTX_METADATA]",
)
@click.option(
    "--bookie-pid",
    "bookie_pids",
    type=click.IntRange(1),
    multiple=True,
    help="Process of a bookie of that cluster on this machine, to measure its CPU; may be repeated.",
)
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="New or empty directory for our own bookie's data, which is kept; default: a temporary one.",
)
@click.option("--entries", type=click.IntRange(100), help=f"Entries of a run.  [default: {ENTRIES:,}]")
@click.option(
    "--size",
    "payload_sizes",
    type=click.IntRange(1, 4 * MIB),
    multiple=True,
    default=(100, 1024),
    show_default=True,
    help="Payload bytes of an entry; may be repeated.",
)
@click.option(
    "--sizes",
    "distributions",
    type=click.Choice(list(DISTRIBUTIONS)),
    default="variable",
    show_default=True,
    help="All entries of that size, or of that mean, uniformly within half of it.",
)
@click.option("--runs", type=click.IntRange(1), help=f"Runs of each workload.  [default: {RUNS}]")
@click.option("--replicas", type=click.IntRange(1), default=1, show_default=True, help="E = Qw = Qa of the ledgers.")
@click.option("--window", type=click.IntRange(1), default=1000, show_default=True, help="Operations in flight.")
@click.option(
    "--protocol",
    type=click.Choice([each.value for each in WireProtocol]),
    default=WireProtocol.V2.value,
    show_default=True,
    help="The dialect of adds and reads.",
)
@click.option("--quick", is_flag=True, help=f"{ENTRIES_QUICK:,} entries, {RUNS_QUICK} runs.")
@click.option("--json", "as_json", is_flag=True, help="Print everything measured, each run of it, as JSON.")
@click.pass_context
def bench(
    context: click.Context,
    metadata_uri: str | None,
    bookie_pids: tuple[int, ...],
    directory: Path | None,
    entries: int | None,
    payload_sizes: tuple[int, ...],
    distributions: str,
    runs: int | None,
    replicas: int,
    window: int,
    protocol: str,
    quick: bool,
    as_json: bool,
) -> None:
    """Measure adds, reads of ranges, single reads and batch reads; every entry's CRC32C is verified.

    CPU is what this process and the bookies' processes used, all threads, per entry: it says more than rates do on a
    machine that others use too.  Without --metadata a bookie is started for each payload size, its caches and logs so
    small that every run flushes and rolls a log.  This process looks for garbage cycles as seldom as the client guide
    advises, not as often as Python does by itself.

    \b
    bktx bench --quick
    bktx bench --size 100 --sizes both --json > figures.json
    bktx bench --metadata zk+hierarchical://127.0.0.1:2181/ledgers --bookie-pid 4711 --replicas 1
    """
    if context.invoked_subcommand is not None:
        _refuse_options_before(context, context.invoked_subcommand)
        return
    _refuse_contradictions(metadata_uri, bookie_pids, directory)
    plan = [
        Series(
            entries=entries or (ENTRIES_QUICK if quick else ENTRIES),
            payload_size=size,
            variable=variable,
            runs=runs or (RUNS_QUICK if quick else RUNS),
            replicas=replicas,
            window=window,
            protocol=protocol,
        )
        for size in payload_sizes
        for variable in DISTRIBUTIONS[distributions]
    ]
    progress = Console(stderr=True, highlight=False)
    with (
        everything_stopped_on_signals(),
        tempfile.TemporaryDirectory(prefix="bktx-bench-", ignore_cleanup_errors=True) as temporary,
    ):
        clusters = _clusters(plan, metadata_uri, bookie_pids, directory or Path(temporary))
        report = run(lambda reactor: _measure(reactor, plan, clusters, progress))
    if as_json:
        click.echo(json.dumps(report, indent=2))
    else:
        bench_report.show(report, Console(highlight=False))


def _refuse_options_before(context: click.Context, name: str) -> None:
    """Raise UsageError for an option that would change nothing: it stands before the name of another bench."""
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]} stands before {name!r}: its options come behind it")


def _refuse_contradictions(metadata_uri: str | None, bookie_pids: tuple[int, ...], directory: Path | None) -> None:
    if metadata_uri is not None and directory is not None:
        raise click.UsageError("--directory is for our own bookie: leave out --metadata, or --directory")
    if bookie_pids and metadata_uri is None:
        raise click.UsageError("--bookie-pid is for a cluster given with --metadata: our own bookie is known")
    if directory is not None and directory.exists() and any(directory.iterdir()):
        raise InvalidArgument(f"{directory} is not empty: give a new directory")


def _clusters(
    plan: list[Series], metadata_uri: str | None, bookie_pids: tuple[int, ...], root: Path
) -> list[BenchCluster]:
    """Return the cluster of each series; own ones are not started yet."""
    if metadata_uri is not None:
        return [given_cluster(metadata_uri, bookie_pids, root) for _ in plan]
    return [
        own_cluster(root / f"{index}", series.stored_bytes, series.runs, series.replicas)
        for index, series in enumerate(plan)
    ]


async def _measure(reactor: Any, plan: list[Series], clusters: list[BenchCluster], progress: Console) -> dict[str, Any]:
    results = []
    for series, cluster in zip(plan, clusters, strict=True):
        async with cluster:
            results.append(await run_series(reactor, series, cluster, progress))
    return {"machine": bench_report.machine(), "series": results}

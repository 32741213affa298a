"""``bktx bench``: rates, latencies and CPU per entry of adds and reads, many ledgers at once."""

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
from bookkeeper_tx.cli.bench.load_process import FACES, TWISTED
from bookkeeper_tx.cli.bench.payloads import EQUAL, PAYLOAD_BYTES_MAX, SIZES, VARIABLE
from bookkeeper_tx.cli.bench.restarts import measure_restarts
from bookkeeper_tx.cli.bench.series import ADDS, BULK_ADDS, READS_BESIDE_ADDS, WORKLOADS, Series, run_in_turns
from bookkeeper_tx.cli.run import everything_stopped_on_signals
from bookkeeper_tx.config import LEDGER_STORAGE_CLASSES, WireProtocol
from bookkeeper_tx.errors import InvalidArgument

ENTRIES = 1_000_000
ENTRIES_QUICK = 20_000
RUNS = 5
RUNS_QUICK = 2
LEDGERS = 100

BOTH: Final = "both"
DISTRIBUTIONS: Final[dict[str, tuple[str, ...]]] = {**{each: (each,) for each in SIZES}, BOTH: (EQUAL, VARIABLE)}
"""Value of --sizes → the sizes of each series of a payload size."""

BENCHES: Final[dict[str, tuple[str, str]]] = {
    "compare": ("compare", "Measure Java's client and bookie beside ours, as ratios."),
    "spark": ("spark", "Measure Spark: reads, export, the sink, planning."),
    "storage": ("storage", "Measure classes of ledger storage by themselves."),
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
    help="A cluster that runs; default: bookies of our own, with the SQLite store.  [env BKTX_METADATA]",
)
@click.option(
    "--bookie-pid",
    "bookie_pids",
    type=click.IntRange(1),
    multiple=True,
    help="Process of a bookie of that cluster on this machine, to measure its CPU, of Java too; may be repeated.",
)
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="New or empty directory for our own bookies' data, which is kept; default: a temporary one.",
)
@click.option(
    "--ledger-storage-class",
    "storage_class",
    type=click.Choice(LEDGER_STORAGE_CLASSES),
    default=LEDGER_STORAGE_CLASSES[0],
    show_default=True,
    help="Where our own bookies keep the locations of entries.",
)
@click.option(
    "--entries", type=click.IntRange(100), help=f"Entries of a run, of all clients together.  [default: {ENTRIES:,}]"
)
@click.option(
    "--ledgers",
    type=click.IntRange(1),
    default=LEDGERS,
    show_default=True,
    help="Ledgers that each client writes, and reads, in turns.",
)
@click.option("--clients", type=click.IntRange(1), default=1, show_default=True, help="Client processes.")
@click.option(
    "--size",
    "payload_sizes",
    type=click.IntRange(1, PAYLOAD_BYTES_MAX),
    multiple=True,
    default=(100, 1024),
    show_default=True,
    help="Payload bytes of an entry; may be repeated.",
)
@click.option(
    "--sizes",
    "distributions",
    type=click.Choice(list(DISTRIBUTIONS)),
    default=VARIABLE,
    show_default=True,
    help="All entries of that size; of that mean, uniformly within half of it; or mixed: most small, some large.",
)
@click.option(
    "--workload",
    "workloads",
    type=click.Choice(WORKLOADS),
    multiple=True,
    help="Only this workload, and those that it needs; may be repeated.  [default: all]",
)
@click.option("--runs", type=click.IntRange(1), help=f"Runs of each workload.  [default: {RUNS}]")
@click.option("--replicas", type=click.IntRange(1), default=1, show_default=True, help="E = Qw = Qa of the ledgers.")
@click.option("--ensemble", type=click.IntRange(1), help="E.  [default: --replicas]")
@click.option("--write-quorum", type=click.IntRange(1), help="Qw.  [default: E]")
@click.option("--ack-quorum", type=click.IntRange(1), help="Qa.  [default: most of Qw, if E or Qw is given]")
@click.option(
    "--window", type=click.IntRange(1), default=1000, show_default=True, help="Operations in flight of each client."
)
@click.option(
    "--protocol",
    type=click.Choice([each.value for each in WireProtocol]),
    default=WireProtocol.V2.value,
    show_default=True,
    help="The dialect of adds and reads.",
)
@click.option(
    "--face",
    "faces",
    type=click.Choice(list(FACES)),
    multiple=True,
    default=(TWISTED,),
    show_default=True,
    help="The face of the client: on Twisted, on asyncio, or the one whose calls wait; may be repeated.",
)
@click.option(
    "--restarts",
    is_flag=True,
    help="After the runs measure a start after SIGKILL, a stop at SIGTERM, and a start after that, of our bookies.",
)
@click.option("--quick", is_flag=True, help=f"{ENTRIES_QUICK:,} entries, {RUNS_QUICK} runs.")
@click.option("--json", "as_json", is_flag=True, help="Print everything measured, each run of it, as JSON.")
@click.pass_context
def bench(
    context: click.Context,
    /,
    metadata_uri: str | None,
    bookie_pids: tuple[int, ...],
    directory: Path | None,
    storage_class: str,
    as_json: bool,
    restarts: bool,
    **load: Any,
) -> None:
    """Measure adds, reads of ranges, single reads and batch reads; every entry's CRC32C is verified.

    Each client writes and reads many ledgers in turns, one entry of each; --ledgers 1 is one ledger alone.  CPU is what
    the clients' processes and the bookies' processes used, all threads, per entry: it says more than rates do on a
    machine that others use too.  Without --metadata as many bookies are started for each payload size as the ensemble
    has, their caches and logs so small that every run flushes and rolls a log.  Clients look for garbage cycles as
    seldom as the client guide advises, not as often as Python does by itself.

    \b
    bktx bench --quick
    bktx bench --ledgers 1 --size 100 --sizes both --json > figures.json
    bktx bench --clients 50 --window 20 --ensemble 3 --protocol v3 --workload adds
    bktx bench --metadata zk+hierarchical://127.0.0.1:2181/ledgers --bookie-pid 4711 --replicas 1
    """
    if context.invoked_subcommand is not None:
        _refuse_options_before(context, context.invoked_subcommand)
        return
    plan = planned(**load)
    _refuse_contradictions(metadata_uri, bookie_pids, directory, restarts)
    progress = Console(stderr=True, highlight=False)
    with (
        everything_stopped_on_signals(),
        tempfile.TemporaryDirectory(prefix="bktx-bench-", ignore_cleanup_errors=True) as temporary,
    ):
        root = directory or Path(temporary)
        clusters = _clusters(plan, metadata_uri, bookie_pids, root, storage_class)
        report = _measure(plan, clusters, restarts, progress)
    if as_json:
        click.echo(json.dumps(report, indent=2))
    else:
        bench_report.show(report, Console(highlight=False))


def planned(
    *,
    payload_sizes: tuple[int, ...],
    distributions: str,
    workloads: tuple[str, ...],
    quick: bool,
    entries: int | None,
    runs: int | None,
    replicas: int,
    ensemble: int | None,
    write_quorum: int | None,
    ack_quorum: int | None,
    faces: tuple[str, ...] = (TWISTED,),
    **others: Any,
) -> list[list[Series]]:
    """Return the series that the options ask for, together those that differ in the face of the client alone.

    Raises UsageError where options contradict each other.
    """
    e, qw, qa = quorums(replicas, ensemble, write_quorum, ack_quorum)
    return [
        [
            Series(
                entries=entries or (ENTRIES_QUICK if quick else ENTRIES),
                payload_size=size,
                sizes=sizes,
                runs=runs or (RUNS_QUICK if quick else RUNS),
                ensemble=e,
                write_quorum=qw,
                ack_quorum=qa,
                workloads=workloads or WORKLOADS,
                face=face,
                **others,
            )
            for face in dict.fromkeys(faces)
        ]
        for size in payload_sizes
        for sizes in DISTRIBUTIONS[distributions]
    ]


def quorums(
    replicas: int, ensemble: int | None, write_quorum: int | None, ack_quorum: int | None
) -> tuple[int, int, int]:
    """Return E, Qw and Qa.  Raises UsageError unless E >= Qw >= Qa."""
    e = ensemble or write_quorum or replicas
    qw = write_quorum or e
    qa = ack_quorum or (qw if ensemble is None and write_quorum is None else qw // 2 + 1)
    if not e >= qw >= qa:
        raise click.UsageError(f"an ensemble of {e} has no write quorum of {qw} with an ack quorum of {qa}")
    return e, qw, qa


def _refuse_options_before(context: click.Context, name: str) -> None:
    """Raise UsageError for an option that would change nothing: it stands before the name of another bench."""
    for parameter in context.command.params:
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{parameter.opts[0]} stands before {name!r}: its options come after it")


def _refuse_contradictions(
    metadata_uri: str | None, bookie_pids: tuple[int, ...], directory: Path | None, restarts: bool
) -> None:
    if metadata_uri is not None and directory is not None:
        raise click.UsageError("--directory is for our own bookies: leave out --metadata, or --directory")
    if metadata_uri is not None and restarts:
        raise click.UsageError("--restarts is for our own bookies: leave out --metadata, or --restarts")
    if bookie_pids and metadata_uri is None:
        raise click.UsageError("--bookie-pid is for a cluster given with --metadata: our own bookies are known")
    if directory is not None and directory.exists() and any(directory.iterdir()):
        raise InvalidArgument(f"{directory} is not empty: give a new directory")


def _clusters(
    plan: list[list[Series]],
    metadata_uri: str | None,
    bookie_pids: tuple[int, ...],
    root: Path,
    storage_class: str = LEDGER_STORAGE_CLASSES[0],
) -> list[BenchCluster]:
    """Return the cluster of each group of series; own ones are not started yet."""
    if metadata_uri is not None:
        return [given_cluster(metadata_uri, bookie_pids, root) for _ in plan]
    return [_own_cluster(group, root / f"{index}", storage_class) for index, group in enumerate(plan)]


def _own_cluster(group: list[Series], directory: Path, storage_class: str) -> BenchCluster:
    series = group[0]  # they differ in the face of the client alone
    return own_cluster(
        directory,
        series.stored_bytes * series.write_quorum // series.ensemble,
        series.runs * len(group),
        series.ensemble,
        len(series.chosen(ADDS, BULK_ADDS, READS_BESIDE_ADDS)) or 1,
        storage_class,
    )


def _measure(
    plan: list[list[Series]], clusters: list[BenchCluster], restarts: bool, progress: Console
) -> dict[str, Any]:
    results: list[dict[str, Any]] = []
    for group, cluster in zip(plan, clusters, strict=True):
        with cluster:
            results += run_in_turns(group, cluster, progress)
            if restarts and cluster.local is not None:
                progress.print(f"{group[-1].title}: restarts")
                results[-1]["restarts"] = measure_restarts(group[-1], cluster.local)
    return {"machine": bench_report.machine(), "series": results}

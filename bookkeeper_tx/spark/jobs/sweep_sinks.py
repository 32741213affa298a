"""Deletes the ledgers that failed attempts of sinks have written and that were never published.

``bktx spark sweep --metadata URI --sink-id orders --dry-run``
"""

from typing import Any

import click
from attrs import frozen

from bookkeeper_tx.client.config_file import read_client_config_file
from bookkeeper_tx.config import ClientConfig
from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.spark.jobs.arguments import Output, metadata_argument, output_arguments
from bookkeeper_tx.spark.jobs.client_file import client_config_argument
from bookkeeper_tx.spark.jobs.launch import launch, run_alone
from bookkeeper_tx.spark.jobs.steps import Progress
from bookkeeper_tx.spark.jobs.summary import SHOWN, ExitCode, Summary, SummaryTable, counted, first_rows
from bookkeeper_tx.spark.sink.sweep import GRACE_S, Leftover, SweepReport, sweep
from protocol_specs.ledger_id import split

SCHEMA = (
    "scope_id BIGINT, ledger_id BIGINT, sink_id STRING, query_id STRING, epoch BIGINT, partition BIGINT,"
    " attempt BIGINT, state STRING, reason STRING, deleted BOOLEAN, error STRING"
)


@frozen
class SweepSettings:
    """The sinks to sweep."""

    metadata_uri: str
    sink_id: str | None = None
    """One sink; None is all of them."""
    grace_s: float = GRACE_S
    dry_run: bool = False
    output: Output | None = None
    client_config: str | None = None
    """A file of Java's client keys, for a secured ZooKeeper, and for bookies that want TLS or SASL when a ledger is
    recovered."""


def run(spark: Any, settings: SweepSettings, progress: Progress) -> Summary:
    """Sweep; Spark is not used for that, so a session is needed for the output only."""
    sinks = "all sinks" if settings.sink_id is None else f"sink {settings.sink_id}"
    with progress.step(f"looking for leftovers of {sinks}"):
        report = sweep(
            settings.metadata_uri,
            settings.sink_id,
            grace_s=settings.grace_s,
            dry_run=settings.dry_run,
            config=_config(settings.client_config),
        )
    if settings.output is not None:
        with progress.step(f"writing {settings.output.path}"):
            settings.output.write(spark.createDataFrame([row_of(each) for each in report.leftovers], SCHEMA))
    return summarise(report, settings.dry_run)


def _config(path: str | None) -> ClientConfig | None:
    if path is None:
        return None
    return read_client_config_file(path, lambda text: click.echo(f"warning: {text}", err=True))


def row_of(leftover: Leftover) -> tuple[Any, ...]:
    """Return a leftover as a row of the output."""
    mark = leftover.mark
    return (
        *map(int, split(leftover.ledger_id)),
        *(mark.sink_id, mark.key.query_id, mark.key.epoch, mark.partition, mark.attempt),
        *(leftover.state.name.lower(), leftover.reason.value, leftover.deleted, leftover.error or None),
    )


def summarise(report: SweepReport, dry_run: bool) -> Summary:
    """Return the summary: the leftovers, and whether they are deleted."""
    found = report.leftovers
    kept = [] if dry_run else [each for each in found if not each.deleted]
    rows = [
        (ledger_name(each.ledger_id), each.mark.sink_id, each.mark.key.query_id, each.mark.key.epoch, each.reason.value)
        for each in found[:SHOWN]
    ]
    tables = [
        SummaryTable(
            "sweep",
            ("published, kept", "within grace, kept", "leftovers", "deleted"),
            ((report.published, report.young, len(found), sum(each.deleted for each in found)),),
        ),
        first_rows("leftovers", ("ledger", "sink", "query", "epoch", "why"), rows, len(found)),
    ]
    errors = [(ledger_name(each.ledger_id), each.error) for each in found if each.error]
    tables.append(first_rows("trouble", ("ledger", "error"), errors[:SHOWN], len(errors)))
    if kept:
        return Summary(f"{counted(len(kept), 'leftover')} could not be deleted", (*tables,), ExitCode.FAILED)
    done = "would be deleted" if dry_run else "deleted"
    return Summary(f"{counted(len(found), 'leftover')} {done}", (*tables,))


@click.command(short_help="Deletes what sinks wrote and never published.")
@metadata_argument("Where the cluster's metadata is.")
@click.option("--sink-id", metavar="NAME", help="One sink; default: all.")
@click.option(
    "--grace",
    "grace_s",
    type=click.FloatRange(0),
    default=GRACE_S,
    show_default=True,
    metavar="SECONDS",
    help="Leave alone what is younger and may be published still.",
)
@click.option("--dry-run", is_flag=True, help="Find them only.")
@client_config_argument
@output_arguments()
def command(**values: Any) -> None:
    """Delete the ledgers of failed, killed and repeated attempts of sinks; what is published is never touched.

    \b
    bktx spark sweep --metadata sqlite:///tmp/cluster.db --dry-run
    """
    settings = SweepSettings(**values)
    launch(run, settings, in_session=settings.output is not None)


def main(arguments: list[str] | None = None) -> None:
    """Run it as a program of its own."""
    run_alone(command, arguments)


if __name__ == "__main__":
    main()

"""Files to ledgers: any DataFrame with a column ``payload``, published at once, then read again and compared.

``bktx spark import --metadata URI --sink-id orders --input /data/orders``
"""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import click
from attrs import field, frozen

from bookkeeper_tx.spark.jobs.arguments import Cluster, Output, output_arguments, pairs, sink_arguments
from bookkeeper_tx.spark.jobs.content import content_of
from bookkeeper_tx.spark.jobs.failure import CannotBeDone
from bookkeeper_tx.spark.jobs.launch import launch, run_alone
from bookkeeper_tx.spark.jobs.sink_ledgers import entries_of, published_ledgers, write_once
from bookkeeper_tx.spark.jobs.steps import Progress
from bookkeeper_tx.spark.jobs.summary import ExitCode, Summary, SummaryTable, counted


@frozen
class ImportSettings:
    """The rows to write, and the sink to write them to."""

    sink: Cluster
    sink_id: str
    path: str
    format: str = "parquet"
    options: Mapping[str, str] = field(factory=dict)
    column: str = "payload"
    """The column that becomes the entries: binary, or text, which is written as UTF-8."""
    order_by: tuple[str, ...] = ()
    """Entries are in the order of these columns, and the sink's ledgers too."""
    ledgers: int | None = None
    """The most ledgers to write."""
    app_id: str | None = None
    """Name of the write: a version that was published under it before is not written again."""
    version: int = 0
    output: Output | None = None
    """For the published ledgers, a row for each."""


def run(spark: Any, settings: ImportSettings, progress: Progress) -> Summary:
    """Write the rows, read the published entries, and compare."""
    from pyspark.sql import functions as F

    app_id = settings.app_id or f"import-{uuid4()}"
    rows = payloads(spark, settings)
    with progress.step(f"counting {settings.path}"):
        content = content_of(rows)
    ours = (F.col("app_id") == app_id) & (F.col("txn_version") == settings.version)
    before = settings.app_id is not None and bool(published(spark, settings, ours).limit(1).count())
    if not before:
        with progress.step(f"writing {counted(content.entries, 'entry')} to sink {settings.sink_id}"):
            write_once(rows, settings.sink, settings.sink_id, app_id, settings.version)
    with progress.step("reading what is published"):
        ledgers = published(spark, settings, ours).cache()
        count = ledgers.count()
        written = content_of(entries_of(spark, settings.sink, ledgers))
    if settings.output is not None:
        with progress.step(f"writing which ledgers to {settings.output.path}"):
            settings.output.write(ledgers)
    ledgers.unpersist()
    table = SummaryTable(
        "import",
        ("", "rows", "bytes", "checksum", "ledgers"),
        (
            ("input", content.entries, content.bytes, content.checksum, None),
            (f"sink {settings.sink_id}", written.entries, written.bytes, written.checksum, count),
        ),
    )
    if written != content:
        text = f"what sink {settings.sink_id} has published is not what {settings.path} has"
        return Summary(text, (table,), ExitCode.FOUND)
    again = ", as it was already: nothing was written" if before else ""
    return Summary(
        f"{counted(content.entries, 'entry')} in {counted(count, 'ledger')} of sink {settings.sink_id}{again}", (table,)
    )


def payloads(spark: Any, settings: ImportSettings) -> Any:
    """Return the rows in the form for the sink: one column, in order."""
    from pyspark.sql import functions as F

    frame = spark.read.format(settings.format).options(**settings.options).load(settings.path)
    if settings.column not in frame.columns:
        raise CannotBeDone(
            f"{settings.path} has no column {settings.column}, only {', '.join(frame.columns)}: name it by --column"
        )
    if settings.order_by:
        count = [settings.ledgers] if settings.ledgers else []
        frame = frame.repartitionByRange(*count, *settings.order_by).sortWithinPartitions(*settings.order_by)
    elif settings.ledgers:
        frame = frame.coalesce(settings.ledgers)
    return frame.select(F.col(f"`{settings.column}`").cast("binary").alias("payload"))


def published(spark: Any, settings: ImportSettings, ours: Any) -> Any:
    """Return the ledgers of the sink that the write has published, read anew."""
    return published_ledgers(spark, settings.sink, settings.sink_id).where(ours)


@click.command(short_help="Any DataFrame with a column payload to ledgers of a sink.")
@sink_arguments(uri_option="--metadata", uri_variable="BKTX_METADATA")
@click.option("--input", "path", required=True, metavar="PATH", help="What to read.")
@click.option("--format", "format_name", default="parquet", show_default=True, help="In which format of Spark.")
@click.option("--input-option", "options", multiple=True, metavar="KEY=VALUE", callback=pairs, help="Of that format.")
@click.option("--column", default="payload", show_default=True, help="Becomes the entries: binary, or text as UTF-8.")
@click.option("--order-by", multiple=True, metavar="COLUMN", help="Order of the entries; may be given several times.")
@click.option("--into", "ledgers", type=click.IntRange(1), metavar="N", help="Into so many ledgers at most.")
@click.option("--app-id", metavar="NAME", help="Name of the write: repeated under the same name, it changes nothing.")
@output_arguments(format_option="--output-format")
@click.option("--version", type=click.IntRange(0), default=0, show_default=True, help="Number of the write.")
def command(format_name: str, **more: Any) -> None:
    """Write rows as entries of new ledgers, published all at once in the manifest of a sink; read and compare them.

    \b
    bktx spark import --metadata sqlite:///tmp/cluster.db --sink-id orders --input /tmp/orders --replicas 3
    """
    launch(run, ImportSettings(format=format_name, **more))


def main(arguments: list[str] | None = None) -> None:
    """Run it as a program of its own."""
    run_alone(command, arguments)


if __name__ == "__main__":
    main()

"""Ledgers of one cluster to another: each becomes a ledger of a sink there, with the same entries under the same ids.

Each ledger is a write of its own, named after it, so that an interrupted copy goes on where it stopped.  At the end
both clusters are read and compared, ledger by ledger.

``bktx spark copy --metadata URI --to URI --sink-id from-old-cluster``
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import click
from attrs import evolve, field, frozen

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.model import ledger_name
from bookkeeper_tx.spark.jobs.arguments import Cluster, Output, cluster_arguments, output_arguments, sink_arguments
from bookkeeper_tx.spark.jobs.content import content_columns
from bookkeeper_tx.spark.jobs.failure import one_line
from bookkeeper_tx.spark.jobs.launch import launch, run_alone
from bookkeeper_tx.spark.jobs.pinned_ledgers import PinnedLedgers, pin
from bookkeeper_tx.spark.jobs.sink_ledgers import entries_of, published_ledgers, write_once
from bookkeeper_tx.spark.jobs.steps import Progress
from bookkeeper_tx.spark.jobs.summary import SHOWN, ExitCode, Summary, SummaryTable, counted, first_rows
from bookkeeper_tx.spark.options.advice import without_reading_on
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options

APP_PREFIX = "copy-"

NAME = (
    "CASE WHEN scope_id = 0 THEN cast(ledger_id AS STRING)"
    " ELSE lower(concat(lpad(hex(scope_id), 16, '0'), lpad(hex(ledger_id), 16, '0'))) END"
)
"""A ledger's name in SQL, as :func:`~bookkeeper_tx.model.ledger_name` makes it."""


@frozen
class CopySettings:
    """The ledgers to copy, and the sink to copy them to."""

    cluster: Cluster
    sink: Cluster
    sink_id: str
    at_once: int = 4
    """Ledgers that are copied at the same time, each by one task."""
    output: Output | None = None
    """For the comparison, a row for each ledger."""


def run(spark: Any, settings: CopySettings, progress: Progress) -> Summary:
    """Copy the closed ledgers that the sink does not have yet, and compare all of them."""
    check_options(settings.cluster)
    with progress.step("looking at the ledgers"):
        pinned = pin(spark, settings.cluster, closed_only=True)
        there = published_names(spark, settings)
    copies = Copies([each for each in pinned.ids if ledger_name(each) not in there])
    before = len(pinned.ids) - len(copies.todo)
    with progress.step(f"copying {counted(len(copies.todo), 'ledger')}, {before:,} were copied before", copies):
        copy_all(spark, settings, pinned, copies, progress)
    if not pinned.ids:
        return Summary("there is no closed ledger to copy")
    with progress.step("reading and comparing both clusters"):
        compared = compare(
            source_content(spark, pinned, copies.failed), copied_content(spark, settings, pinned)
        ).cache()
        summary = summarise(settings, pinned, compared, copies.failed)
    if settings.output is not None:
        with progress.step(f"writing the comparison to {settings.output.path}"):
            settings.output.write(compared)
    compared.unpersist()
    return summary


def check_options(cluster: Cluster) -> None:
    """Raise InvalidConfig for options that would leave entries out of a copy, or let corrupt ones in."""
    for name in cluster.options:
        if name.lower() in ("startingoffsets", "endingoffsets", "includelost", "includedigest"):
            raise InvalidConfig(f"option {name}: ledgers are copied whole, leave it out")
    given = {"metadataServiceUri": cluster.metadata_uri, **cluster.selecting().options}
    options = Options.from_spark(given, Use.READ)
    if not options.include_payload:
        raise InvalidConfig("option includePayload: a copy is made of payloads, leave it out")
    if not options.fail_on_data_loss:
        raise InvalidConfig(
            "option failOnDataLoss: a copy without the lost entries would be another ledger, leave it out; "
            "--ledgers names those to copy"
        )


def published_names(spark: Any, settings: CopySettings) -> frozenset[str]:
    """Return the names of ledgers that were copied before."""
    found = published_ledgers(spark, settings.sink, settings.sink_id).where(f"app_id LIKE '{APP_PREFIX}%'")
    return frozenset(row.app_id.removeprefix(APP_PREFIX) for row in found.select("app_id").toLocalIterator())


@frozen
class Copies:
    """The ledgers that are to be copied, and the progress so far."""

    todo: Sequence[int]
    tried: list[int] = field(factory=list)
    failed: dict[str, str] = field(factory=dict)
    """Names of the ledgers that could not be copied, with the reason."""

    def __str__(self) -> str:
        return f"{len(self.tried):,} of {counted(len(self.todo), 'ledger')} done"


def copy_all(spark: Any, settings: CopySettings, pinned: PinnedLedgers, copies: Copies, progress: Progress) -> None:
    """Copy ledgers, several at a time; record those that could not be copied."""

    def copy(ledger_id: int) -> None:
        name = ledger_name(ledger_id)
        try:
            one = evolve(pinned.cluster, options={**pinned.cluster.options, "ledgers": name})
            # One task, so that the copy is one ledger, in which every entry keeps its id.
            frame = one.load(spark, Use.READ).select("payload").coalesce(1)
            write_once(frame, settings.sink, settings.sink_id, APP_PREFIX + name, 0)
        except Exception as error:  # the others are copied all the same
            copies.failed[name] = without_reading_on(one_line(error))
            progress.say(f"ledger {name}: {copies.failed[name]}")
        copies.tried.append(ledger_id)

    def begin() -> None:
        # A writer looks up formats in the session of its own thread; this makes our session that of the thread.
        spark.createDataFrame([], "nothing INT")

    with ThreadPoolExecutor(settings.at_once, initializer=begin) as threads:
        list(threads.map(copy, copies.todo))


def source_content(spark: Any, pinned: PinnedLedgers, failed: Mapping[str, str]) -> Any:
    """Return ``name`` and content of each ledger to copy, and ``why`` for those that could not be copied.

    These are not read again.  Entries that other ledgers have lost since are left out, so that a few damaged ledgers do
    not stop the comparison of the others.
    """
    from pyspark.sql import functions as F

    left = [each for each in pinned.ids if ledger_name(each) not in failed]
    entries = pinned.only(left or pinned.ids).entries(spark, failOnDataLoss="false")
    found = _with_name(entries if left else entries.limit(0), pinned).groupBy("name")
    wanted = _with_name(pinned.expected, pinned).select(
        "name", F.col("entries").alias("expected"), F.col("bytes").alias("expected_bytes")
    )
    why = spark.createDataFrame([*failed.items()], "name STRING, why STRING")
    content = found.agg(*content_columns("entry_id", "payload"))
    return wanted.join(why, "name", "left_outer").join(content, "name", "left_outer")


def _with_name(frame: Any, pinned: PinnedLedgers) -> Any:
    from pyspark.sql import functions as F

    scoped = frame if "scope_id" in pinned.keys else frame.withColumn("scope_id", F.lit(0).cast("bigint"))
    return scoped.withColumn("name", F.expr(NAME))


def copied_content(spark: Any, settings: CopySettings, pinned: PinnedLedgers) -> Any:
    """Return ``name`` and content of each copy; if it has become several ledgers, entry ids go on from one to the next.

    Entries that a copy has lost since it was written are left out, so that the comparison finds a difference.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    before = Window.partitionBy("app_id").orderBy("ledger_id").rowsBetween(Window.unboundedPreceding, -1)
    ledgers = (
        published_ledgers(spark, settings.sink, settings.sink_id)
        .where(f"app_id LIKE '{APP_PREFIX}%'")
        .select(
            "ledger_id",
            F.substring("app_id", len(APP_PREFIX) + 1, 1 << 20).alias("name"),
            F.coalesce(F.sum(F.col("last_entry_id") + 1).over(before), F.lit(0)).alias("first"),
        )
        .join(_with_name(pinned.expected, pinned).select("name"), "name", "left_semi")
    )
    entries = entries_of(spark, settings.sink, ledgers, failOnDataLoss="false")
    placed = entries.join(F.broadcast(ledgers), "ledger_id").withColumn("entry_id", F.col("entry_id") + F.col("first"))
    contents = placed.groupBy("name").agg(*content_columns("entry_id", "payload"))
    count = ledgers.groupBy("name").agg(F.count(F.lit(1)).alias("ledgers"))
    renamed = contents.toDF("name", "copied_entries", "copied_bytes", "copied_checksum")
    return count.join(renamed, "name", "left_outer")


def compare(source: Any, copied: Any) -> Any:
    """Return a row for each ledger of the source; ``difference`` says what is wrong with its copy."""
    from pyspark.sql import functions as F

    zero = F.lit(0)
    return source.join(copied, "name", "left_outer").withColumn(
        "difference",
        F.when(F.col("why").isNotNull(), "could not be copied")
        .when(F.coalesce("entries", zero) != F.col("expected"), "its source has lost entries since")
        .when(F.col("ledgers").isNull() & (F.col("expected") > 0), "not copied")
        .when(F.coalesce("copied_entries", zero) != F.col("expected"), "not as many entries")
        .when(F.coalesce("copied_bytes", zero) != F.coalesce("bytes", zero), "not as many bytes")
        .when(F.coalesce("copied_checksum", zero) != F.coalesce("checksum", zero), "other entries"),
    )


def summarise(settings: CopySettings, pinned: PinnedLedgers, compared: Any, failed: Mapping[str, str]) -> Summary:
    """Say what was copied, and what differs."""
    from pyspark.sql import functions as F

    names = ("expected", "copied_entries", "expected_bytes", "copied_bytes", "ledgers")
    sums = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in names]
    total = compared.agg(*sums, F.count("difference").alias("differing")).collect()[0]
    tables = [
        SummaryTable(
            "copy",
            ("", "ledgers", "entries", "payload bytes"),
            (
                ("source", len(pinned.ids), total.expected, total.expected_bytes),
                (f"sink {settings.sink_id}", total.ledgers, total.copied_entries, total.copied_bytes),
            ),
        )
    ]
    if pinned.open_left_out:
        tables.append(SummaryTable("left out", ("why", "ledgers"), (("open", pinned.open_left_out),)))
    if not total.differing and not failed:
        text = f"{counted(len(pinned.ids), 'ledger')} in sink {settings.sink_id}, with the same entries, byte by byte"
        return Summary(text, (*tables,))
    columns = ("name", "expected", "copied_entries", "expected_bytes", "copied_bytes", "difference")
    rows = compared.where("difference IS NOT NULL").orderBy("name").select(*columns).limit(SHOWN).collect()
    tables.append(first_rows("ledgers that differ", columns, rows, total.differing))
    tables.append(first_rows("could not be copied", ("ledger", "why"), [*failed.items()][:SHOWN], len(failed)))
    differing = f"{total.differing:,} of {counted(len(pinned.ids), 'ledger')}"
    text = f"{differing} are not the same in the source and in sink {settings.sink_id}"
    return Summary(text, (*tables,), ExitCode.FAILED if failed else ExitCode.FOUND)


@click.command(short_help="Ledgers of one cluster to another, compared entry by entry.")
@cluster_arguments
@sink_arguments(uri_option="--to")
@output_arguments()
@click.option("--at-once", type=click.IntRange(1, 64), default=4, show_default=True, help="Ledgers at the same time.")
def command(**values: Any) -> None:
    """Copy closed ledgers to another cluster, where a sink publishes them, and compare both clusters.

    A ledger becomes a new ledger with the same entries under the same ids.  One that was copied before is not copied
    again, so that a copy goes on where it was interrupted.  Open ledgers are left out.

    \b
    bktx spark copy --metadata sqlite:///tmp/old.db --to sqlite:///tmp/new.db --sink-id from-old
    """
    launch(run, CopySettings(**values))


def main(arguments: list[str] | None = None) -> None:
    """Run it as a program of its own."""
    run_alone(command, arguments)


if __name__ == "__main__":
    main()

"""Audit of entry logs: the records of ledgers that are gone, and the places that cannot be read.

``bktx spark entrylog --metadata URI /var/bookkeeper/ledgers``
"""

from typing import Any

import click
from attrs import frozen

from bookkeeper_tx.spark.jobs.arguments import (
    CONNECTION,
    Cluster,
    Output,
    load_entry_logs,
    metadata_argument,
    option_argument,
    output_arguments,
)
from bookkeeper_tx.spark.jobs.client_file import client_config_argument, with_client_file
from bookkeeper_tx.spark.jobs.launch import launch, run_alone
from bookkeeper_tx.spark.jobs.steps import Progress
from bookkeeper_tx.spark.jobs.summary import SHOWN, ExitCode, Summary, SummaryTable, counted, first_rows
from bookkeeper_tx.spark.options.option import Use

LIVE, BEHIND, ORPHAN = "live", "behind the end", "orphan"
"""The conditions of a ledger's entries in a log: the ledger exists; the entries lie after its last one, as recovery may
leave them; the ledger has no metadata, since it was deleted or never created."""


@frozen
class EntryLogSettings:
    """The logs to read."""

    cluster: Cluster
    """The bookie's cluster, with options of connections alone."""
    paths: tuple[str, ...]
    """Files, directories or patterns on the machines of the tasks."""
    output: Output | None = None


def run(spark: Any, settings: EntryLogSettings, progress: Progress) -> Summary:
    """Read the logs, compare them with the metadata, and count."""
    settings.cluster.check_used(CONNECTION)
    records = load_entry_logs(spark, settings.paths)
    ledgers = settings.cluster.whole().load(spark, Use.LEDGERS)
    with progress.step(f"reading entry logs in {', '.join(settings.paths)}"):
        rows = by_log(records, ledgers).cache()
        summary = summarise(rows)
    if settings.output is not None:
        with progress.step(f"writing {settings.output.path}"):
            settings.output.write(rows)
    rows.unpersist()
    return summary


def by_log(records: Any, ledgers: Any) -> Any:
    """Return a row for each log, ledger and condition; other records than entries have no ledger, and their kind as
    condition."""
    from pyspark.sql import functions as F

    live = ledgers.select("scope_id", "ledger_id", "state", "last_entry_id", F.lit(True).alias("there"))
    behind = (F.col("state") == "closed") & (F.col("entry_id") > F.col("last_entry_id"))
    entry = F.col("kind") == "entry"
    keys = [F.when(entry, F.col(name)).alias(name) for name in ("scope_id", "ledger_id")]
    marked = (
        records.select("path", "log_id", "kind", *keys, "entry_id", "size", "problem")
        .join(live, ["scope_id", "ledger_id"], "left_outer")
        .withColumn(
            "condition",
            F.when(~entry, F.col("kind"))
            .when(F.col("there").isNull(), ORPHAN)
            .when(F.coalesce(behind, F.lit(False)), BEHIND)
            .otherwise(LIVE),
        )
    )
    return marked.groupBy("path", "log_id", "scope_id", "ledger_id", "condition").agg(
        F.count(F.lit(1)).alias("records"), F.sum("size").alias("bytes"), F.first("problem").alias("problem")
    )


def summarise(rows: Any) -> Summary:
    """Say how much of the logs is garbage, and which places cannot be read."""
    from pyspark.sql import functions as F

    total = rows.agg(
        F.count_distinct("path").alias("logs"),
        _bytes(F.lit(True)).alias("bytes"),
        _bytes(_garbage()).alias("garbage"),
        F.sum(F.when(F.col("condition") == "problem", F.col("records"))).alias("problems"),
    ).collect()[0]
    conditions = rows.groupBy("condition").agg(
        F.count_distinct("scope_id", "ledger_id").alias("ledgers"), F.sum("records"), F.sum("bytes").alias("size")
    )
    tables = [
        SummaryTable(
            "in the logs",
            ("what", "ledgers", "records", "bytes"),
            tuple(tuple(row) for row in conditions.orderBy(F.desc("size")).collect()),
        ),
        _garbage_table(rows, "logs with most garbage", ["path"]),
        _garbage_table(rows.where("ledger_id IS NOT NULL"), "ledgers with most garbage", ["scope_id", "ledger_id"]),
    ]
    ratio = 100 * (total.garbage or 0) / total.bytes if total.bytes else 0.0
    text = f"{counted(total.logs, 'log')}: {ratio:.1f} % of {total.bytes or 0:,} bytes are garbage"
    if not total.problems:
        return Summary(text, (*tables,))
    wrong = rows.where("condition = 'problem'").select("path", "records", "bytes", "problem")
    tables.append(
        first_rows("cannot be read", ("log", "places", "bytes", "first"), wrong.limit(SHOWN).collect(), wrong.count())
    )
    return Summary(f"{text}; {counted(total.problems, 'place')} cannot be read", (*tables,), ExitCode.FOUND)


def _garbage() -> Any:
    from pyspark.sql import functions as F

    return F.col("condition").isin(ORPHAN, BEHIND)


def _bytes(condition: Any) -> Any:
    from pyspark.sql import functions as F

    return F.coalesce(F.sum(F.when(condition, F.col("bytes"))), F.lit(0))


def _garbage_table(rows: Any, title: str, keys: list[str]) -> SummaryTable:
    from pyspark.sql import functions as F

    sums = rows.groupBy(*keys).agg(_bytes(F.lit(True)).alias("all"), _bytes(_garbage()).alias("garbage"))
    found = sums.where("garbage > 0").withColumn("percent", F.round(100 * F.col("garbage") / F.col("all"), 1))
    first = found.orderBy(F.desc("garbage"), *keys).limit(SHOWN).collect()
    return first_rows(title, (*keys, "bytes", "garbage", "percent"), first, found.count() if first else 0)


@click.command(short_help="Garbage, orphans and torn places in entry logs on disk.")
@metadata_argument("Where the metadata of the bookie's cluster is.")
@option_argument("An option of the connection to the metadata, as bookkeeper.client.KEY=VALUE; several times.")
@client_config_argument
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@output_arguments()
def command(metadata_uri: str, options: dict[str, str], client_config: str | None, **values: Any) -> None:
    """Read entry logs, ours or Java's, and say which of their entries are of ledgers that there are.

    PATH is a file, a bookie's ledger directory or a pattern, and must be there where the tasks run.  The exit code is 1
    if there are places that cannot be read; garbage is none of that.

    \b
    bktx spark entrylog --metadata sqlite:///tmp/cluster.db /var/bookkeeper/ledgers
    """
    cluster = Cluster(metadata_uri, with_client_file(options, client_config))
    launch(run, EntryLogSettings(cluster, **values))


def main(arguments: list[str] | None = None) -> None:
    """Run it as a program of its own."""
    run_alone(command, arguments)


if __name__ == "__main__":
    main()

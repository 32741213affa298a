"""Statistics of a cluster: ledgers by state and size, and how evenly bookies share them.  No entry is read.

``bktx spark stats --metadata URI``
"""

from typing import Any

import click
from attrs import frozen

from bookkeeper_tx.spark.jobs.arguments import Cluster, Output, cluster_arguments, output_arguments
from bookkeeper_tx.spark.jobs.launch import launch, run_alone
from bookkeeper_tx.spark.jobs.steps import Progress
from bookkeeper_tx.spark.jobs.summary import Summary, SummaryTable, counted, first_rows
from bookkeeper_tx.spark.options.option import Use

SHOWN = 50
"""Bookies in the summary: those with the most bytes."""

KIB = 1024
SIZES = (
    ("empty", 0),
    ("to 1 MiB", KIB**2),
    ("to 64 MiB", 64 * KIB**2),
    ("to 1 GiB", KIB**3),
    ("to 64 GiB", 64 * KIB**3),
)
"""Classes of ledgers, each with the most payload bytes of a ledger in it."""
LARGEST = "more"
OPEN = "not closed"

COLUMNS = ("section", "name", "ledgers", "entries", "bytes", "free_bytes", "share")


@frozen
class StatsSettings:
    """The cluster to count, and the output for the rows."""

    cluster: Cluster
    output: Output | None = None


def run(spark: Any, settings: StatsSettings, progress: Progress) -> Summary:
    """Count, write the rows, and return the summary."""
    settings.cluster.check_used(Use.LEDGERS | Use.BOOKIES)
    with progress.step("reading the metadata of ledgers and bookies"):
        ledgers = settings.cluster.load(spark, Use.LEDGERS).cache()
        bookies = settings.cluster.load(spark, Use.BOOKIES)
        rows = by_state(ledgers).unionByName(by_size(ledgers)).unionByName(by_bookie(ledgers, bookies)).cache()
        tables = [
            _table(rows, "state", "ledgers by state"),
            _table(rows, "size", "ledgers by payload bytes", order=[name for name, _ in SIZES] + [LARGEST, OPEN]),
            _bookies(rows),
        ]
        total = sum(row[1] for row in tables[0].rows)
    if settings.output is not None:
        with progress.step(f"writing {settings.output.path}"):
            settings.output.write(rows)
    ledgers.unpersist()
    rows.unpersist()
    return Summary(
        f"{counted(total, 'ledger')} on {counted(len(tables[2].rows) + tables[2].more, 'bookie')}", (*tables,)
    )


def by_state(ledgers: Any) -> Any:
    """Return a row for each state; only bookies know the size of a ledger that is not closed."""
    from pyspark.sql import functions as F

    name = F.when(F.col("problem").isNotNull(), "metadata cannot be read").otherwise(F.col("state"))
    return _sums(ledgers, "state", name)


def by_size(ledgers: Any) -> Any:
    """Return a row for each class of size."""
    from pyspark.sql import functions as F

    name = F.when(F.col("length").isNull(), OPEN)
    for title, most in SIZES:
        name = name.when(F.col("length") <= most, title)
    return _sums(ledgers.where("problem IS NULL"), "size", name.otherwise(LARGEST))


def _sums(ledgers: Any, section: str, name: Any) -> Any:
    from pyspark.sql import functions as F

    return (
        ledgers.groupBy(name.alias("name"))
        .agg(
            F.count(F.lit(1)).alias("ledgers"),
            F.sum(F.col("last_entry_id") + 1).alias("entries"),
            F.sum("length").alias("bytes"),
        )
        .withColumn("section", F.lit(section))
        .withColumn("free_bytes", F.lit(None).cast("bigint"))
        .withColumn("share", F.lit(None).cast("double"))
        .select(*COLUMNS)
    )


def by_bookie(ledgers: Any, bookies: Any) -> Any:
    """Return a row for each bookie: the part of closed ledgers that it should have by the metadata, on average.

    ``share`` is its bytes divided by the average of all bookies: 1 is balance.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    ends = "coalesce(get(fragments, place + 1).first_entry_id, last_entry_id + 1, fragment.first_entry_id)"
    held = (
        ledgers.where("problem IS NULL")
        .select("*", F.posexplode("fragments").alias("place", "fragment"))
        .withColumn("count", F.expr(f"greatest({ends} - fragment.first_entry_id, 0)"))
        .withColumn("copies", F.col("count") * F.col("write_quorum_size") / F.col("ensemble_size"))
        .withColumn("size", F.expr("copies * coalesce(length / nullif(last_entry_id + 1, 0), 0)"))
        .select("scope_id", "ledger_id", F.explode("fragment.ensemble").alias("name"), "copies", "size")
        .groupBy("name")
        .agg(
            F.count_distinct("scope_id", "ledger_id").alias("ledgers"),
            F.round(F.sum("copies")).cast("bigint").alias("entries"),
            F.round(F.sum("size")).cast("bigint").alias("bytes"),
        )
    )
    registered = bookies.select(F.col("bookie_id").alias("name"), "free_bytes")
    average = F.avg("bytes").over(Window.partitionBy("section"))
    return (
        registered.join(held, "name", "full_outer")
        .na.fill(0, ["ledgers", "entries", "bytes"])
        .withColumn("section", F.lit("bookie"))
        .withColumn("share", F.round(F.expr("bytes") / F.when(average > 0, average), 3))
        .select(*COLUMNS)
    )


def _table(rows: Any, section: str, title: str, order: list[str] | None = None) -> SummaryTable:
    columns = ("name", "ledgers", "entries", "bytes")
    found = [tuple(row) for row in rows.where(f"section = '{section}'").select(*columns).collect()]
    found.sort(key=lambda row: order.index(row[0]) if order else row[0])
    return SummaryTable(title, (section, *columns[1:]), tuple(found))


def _bookies(rows: Any) -> SummaryTable:
    columns = ("name", "ledgers", "entries", "bytes", "share", "free_bytes")
    of_bookies = rows.where("section = 'bookie'").select(*columns)
    found = of_bookies.orderBy("bytes", "name", ascending=[False, True]).limit(SHOWN).collect()
    shown = [(*row[:4], row.share and f"{row.share:.2f}", row.free_bytes) for row in found]
    titles = ("bookie", "ledgers", "entries", "payload bytes", "share", "free bytes")
    return first_rows("bookies, by what closed ledgers say they have", titles, shown, of_bookies.count())


@click.command(short_help="Ledgers by state and size, and how evenly bookies share them.")
@cluster_arguments
@output_arguments()
def command(**values: Any) -> None:
    """Count what the metadata says: ledgers by state and by size, and what each bookie has of them.

    \b
    bktx spark stats --metadata sqlite:///tmp/cluster.db
    """
    launch(run, StatsSettings(**values))


def main(arguments: list[str] | None = None) -> None:
    """Run it as a program of its own."""
    run_alone(command, arguments)


if __name__ == "__main__":
    main()

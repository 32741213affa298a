"""Ledgers to files: Parquet, or any format that Spark writes; the files are read again and counted.

``bktx spark export --metadata URI --ledgers 1,5-9 --output /data/ledgers``
"""

from typing import Any

import click
from attrs import frozen

from bookkeeper_tx.spark.jobs.arguments import Cluster, Output, cluster_arguments, output_arguments
from bookkeeper_tx.spark.jobs.launch import launch, run_alone
from bookkeeper_tx.spark.jobs.pinned_ledgers import PinnedLedgers, pin
from bookkeeper_tx.spark.jobs.steps import Progress
from bookkeeper_tx.spark.jobs.summary import SHOWN, ExitCode, Summary, SummaryTable, counted, first_rows


@frozen
class ExportSettings:
    """The ledgers to export, and the output."""

    cluster: Cluster
    output: Output


def run(spark: Any, settings: ExportSettings, progress: Progress) -> Summary:
    """Write the entries, read them back, and compare, ledger by ledger."""
    with progress.step("looking at the ledgers"):
        pinned = pin(spark, settings.cluster)
    if not pinned.ids:
        return Summary(f"there is no ledger to export{_left_out(pinned)}; nothing was written")
    output = settings.output
    entries = pinned.entries(spark)
    with progress.step(f"writing {counted(len(pinned.ids), 'ledger')} to {output.path}"):
        output.write(entries)
    with progress.step(f"counting what is in {output.path}"):
        written = spark.read.format(output.format).schema(entries.schema).options(**output.options).load(output.path)
        compared = compare(pinned, totals(written, pinned.keys)).cache()
        summary = summarise(pinned, compared, output)
    compared.unpersist()
    return summary


def totals(entries: Any, keys: tuple[str, ...]) -> Any:
    """Return the totals of each ledger: entries, their ids, and payload bytes if there is a payload.

    A row of a lost or corrupt entry does not count.
    """
    from pyspark.sql import functions as F

    if "lost" in entries.columns:
        entries = entries.where("lost IS NULL")
    if "digest_ok" in entries.columns:
        entries = entries.where("digest_ok")
    size = F.sum(F.octet_length("payload")) if "payload" in entries.columns else F.lit(None).cast("bigint")
    return entries.groupBy(*keys).agg(
        F.count(F.lit(1)).alias("written"),
        F.min("entry_id").alias("written_first"),
        F.max("entry_id").alias("written_last"),
        F.try_sum("entry_id").alias("written_id_sum"),  # None if it does not fit into 64 bits
        size.alias("written_bytes"),
    )


def compare(pinned: PinnedLedgers, written: Any) -> Any:
    """Return a row for each ledger; ``difference`` says how its rows differ, None if they do not.

    There must be a row for each entry, with first id, last id and the sum of the ids as in the range, and as many bytes
    as the metadata says.
    """
    from pyspark.sql import functions as F

    joined = pinned.expected.join(written, list(pinned.keys), "full_outer")
    id_sum = F.expr("cast(first_entry + end_entry - 1 AS DECIMAL(20, 0)) * entries / 2").cast("decimal(38,0)")
    wrong_count = F.coalesce("entries", F.lit(0)) != F.coalesce("written", F.lit(0))
    wrong_ids = (
        (F.col("written_first") != F.col("first_entry"))
        | (F.col("written_last") != F.col("end_entry") - 1)
        | (F.col("written_id_sum").cast("decimal(38,0)") != id_sum)
    )
    return joined.withColumn(
        "difference",
        F.when(wrong_count, "not as many rows as entries")
        .when(F.col("written").isNull(), F.lit(None))
        .when(F.coalesce(wrong_ids, F.lit(False)), "rows of other entries")
        .when(F.coalesce(F.col("bytes") != F.col("written_bytes"), F.lit(False)), "other payload bytes"),
    )


def summarise(pinned: PinnedLedgers, compared: Any, output: Output) -> Summary:
    """Say how many ledgers were written, and which differ."""
    from pyspark.sql import functions as F

    total = compared.agg(
        F.coalesce(F.sum("written"), F.lit(0)).alias("rows"),
        F.coalesce(F.sum("written_bytes"), F.lit(0)).alias("bytes"),
        F.coalesce(F.sum("entries"), F.lit(0)).alias("entries"),
        F.count("difference").alias("differing"),
    ).collect()[0]
    tables = [
        SummaryTable(
            "export",
            ("ledgers", "entries", "rows written", "payload bytes", "ledgers that differ"),
            ((len(pinned.ids), total.entries, total.rows, total.bytes, total.differing),),
        )
    ]
    left_out = _left_out(pinned)
    if not total.differing:
        return Summary(
            f"{counted(len(pinned.ids), 'ledger')} in {output.path}, every entry counted{left_out}", (*tables,)
        )
    columns = (*pinned.keys, "entries", "written", "bytes", "written_bytes", "difference")
    rows = compared.where("difference IS NOT NULL").orderBy(*pinned.keys).select(*columns).limit(SHOWN).collect()
    tables.append(first_rows("ledgers that differ", columns, rows, total.differing))
    differing = f"{total.differing:,} of {counted(len(pinned.ids), 'ledger')}"
    return Summary(f"{differing} are not in {output.path} as they should be{left_out}", (*tables,), ExitCode.FOUND)


def _left_out(pinned: PinnedLedgers) -> str:
    parts = []
    if pinned.open_left_out:
        parts.append(f"{pinned.open_left_out:,} open")
    if pinned.unreadable_left_out:
        parts.append(f"{pinned.unreadable_left_out:,} with metadata that cannot be read")
    return f" (left out: {', '.join(parts)})" if parts else ""


@click.command(short_help="Ledgers to Parquet or any other format; counts are proven.")
@cluster_arguments
@output_arguments(required=True, partitioned=True)
def command(cluster: Cluster, output: Output) -> None:
    """Write ledgers to files, read the files back, and compare the counts of each ledger.

    Open ledgers are written up to their last add confirmed; -O readMode=closed leaves them out.  The exit code is 1 if
    a ledger differs.

    \b
    bktx spark export --metadata sqlite:///tmp/cluster.db --ledgers 1,5-9 --output /tmp/ledgers
    """
    launch(run, ExportSettings(cluster, output))


def main(arguments: list[str] | None = None) -> None:
    """Run it as a program of its own."""
    run_alone(command, arguments)


if __name__ == "__main__":
    main()

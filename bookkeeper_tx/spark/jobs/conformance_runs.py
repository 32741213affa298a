"""Many runs of the conformance suite compared: case by target, and how often each fails.

``bktx spark conformance runs/*.json --output /data/conformance``
"""

from typing import Any

import click
from attrs import frozen

from bookkeeper_tx.spark.jobs.arguments import Output, output_arguments
from bookkeeper_tx.spark.jobs.failure import CannotBeDone
from bookkeeper_tx.spark.jobs.launch import launch, run_alone
from bookkeeper_tx.spark.jobs.steps import Progress
from bookkeeper_tx.spark.jobs.summary import ExitCode, Summary, SummaryTable, counted, first_rows

SHOWN = 40
TARGETS_MAX = 200
"""Columns of the table of cases."""

FAILING = ("fail", "not-reached", "error", "not-checked")
"""Verdicts with which a run does not succeed (compat_tests/judge/verdict.py)."""

SCHEMA = """
    format INT, role STRING, started STRING, not_checked STRING, interrupted BOOLEAN,
    target STRUCT<name: STRING, implementation: STRING, release: STRING>,
    results ARRAY<STRUCT<case: STRING, dialect: STRING, verdict: STRING, message: STRING, duration_s: DOUBLE>>,
    _corrupt_record STRING
"""
"""The fields of a run's JSON that the job reads."""

CASE = ["role", "case", "dialect"]


@frozen
class ConformanceSettings:
    """The runs to read."""

    paths: tuple[str, ...]
    """Files, directories or patterns of files that ``bookkeeper-conformance … --json`` has written."""
    output: Output | None = None
    """For the table of cases."""


def run(spark: Any, settings: ConformanceSettings, progress: Progress) -> Summary:
    """Read the runs, and compare the targets."""
    with progress.step("reading runs"):
        results = results_of(spark, settings.paths).cache()
        targets = sorted({row.target for row in results.select("target").distinct().limit(TARGETS_MAX + 1).collect()})
        if len(targets) > TARGETS_MAX:
            raise CannotBeDone(f"there are more than {TARGETS_MAX} targets: name fewer files")
        cases = by_case(results, targets).cache()
        summary = summarise(results, cases, targets)
    if settings.output is not None:
        with progress.step(f"writing {settings.output.path}"):
            settings.output.write(cases)
    cases.unpersist()
    results.unpersist()
    return summary


def results_of(spark: Any, paths: tuple[str, ...]) -> Any:
    """Return a row for each result of each run; raises CannotBeDone for a file that is no run."""
    from pyspark.sql import functions as F

    runs = (
        spark.read.schema(SCHEMA).option("multiLine", "true").json(list(paths)).withColumn("path", F.input_file_name())
    )
    strange = runs.where("format IS NULL OR format <> 1 OR results IS NULL").select("path").limit(1).collect()
    if strange:
        raise CannotBeDone(f"{strange[0].path} is no run of format 1, as bookkeeper-conformance … --json writes them")
    name = F.coalesce("target.name", "target.implementation", F.lit("?"))
    return runs.select(
        F.col("role"), F.col("started"), name.alias("target"), F.col("path"), F.explode("results").alias("result")
    ).select("role", "started", "target", "path", "result.*")


def by_case(results: Any, targets: list[str]) -> Any:
    """Return a row for each case: ``runs``, ``failed``, ``fail_rate``, and for each target the verdicts that it got."""
    from pyspark.sql import functions as F

    failed = F.col("verdict").isin(*FAILING)
    rates = results.groupBy(*CASE).agg(
        F.count(F.lit(1)).alias("runs"),
        F.count(F.when(failed, 1)).alias("failed"),
        F.round(F.avg(failed.cast("int")), 4).alias("fail_rate"),
    )
    verdicts = F.array_join(F.array_sort(F.collect_set("verdict")), " ")
    pivoted = results.groupBy(*CASE).pivot("target", targets).agg(verdicts)
    return rates.join(pivoted, CASE)


def summarise(results: Any, cases: Any, targets: list[str]) -> Summary:
    """Say how often targets fail, and where they differ."""
    from pyspark.sql import functions as F

    failed = F.col("verdict").isin(*FAILING)
    per_target = results.groupBy("role", "target").agg(
        F.count_distinct("path", "started").alias("runs"),
        F.count_distinct("case").alias("cases"),
        F.count(F.lit(1)).alias("results"),
        *[
            F.count(F.when(F.col("verdict").startswith(name), 1))
            for name in ("pass", "known-divergence", "unsupported")
        ],
        F.count(F.when(failed, 1)),
        F.round(100 * F.avg(failed.cast("int")), 2),
    )
    columns = ("role", "target", "runs", "cases", "results", "pass", "known", "unsupported", "failed", "failed %")
    tables = [SummaryTable("targets", columns, tuple(map(tuple, per_target.orderBy("role", "target").collect())))]
    failing = cases.where("failed > 0")
    count = failing.count()
    quoted = [f"`{name}`" for name in targets]
    rows = failing.orderBy(F.desc("fail_rate"), *CASE).select(*CASE, "fail_rate", *quoted).limit(SHOWN).collect()
    shown = [(*row[:3], f"{row.fail_rate:.2f}", *row[4:]) for row in rows]
    tables.append(first_rows("cases that fail", (*CASE, "rate", *targets), shown, count))
    if count:
        return Summary(f"{counted(count, 'case')} fail in some run", (*tables,), ExitCode.FOUND)
    return Summary(f"no case fails in any run of {counted(len(targets), 'target')}", (*tables,))


@click.command(short_help="Runs of the conformance suite beside each other.")
@click.argument("paths", nargs=-1, required=True, metavar="FILE…")
@output_arguments()
def command(**values: Any) -> None:
    """Put runs of the conformance suite beside each other: a row for each case, a column for each target.

    FILE is what "bookkeeper-conformance … --json FILE" wrote, or a pattern.  The exit code is 1 if a case fails.

    \b
    bktx spark conformance 'runs/*.json' --output /tmp/cases --format json
    """
    launch(run, ConformanceSettings(**values))


def main(arguments: list[str] | None = None) -> None:
    """Run it as a program of its own."""
    run_alone(command, arguments)


if __name__ == "__main__":
    main()

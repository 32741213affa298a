"""Jobs that must work in every mode of Spark, as the other :mod:`scenarios <tests.integration.spark.scenarios>`."""

import json
import time
from pathlib import Path
from typing import Any, Final

from bookkeeper_tx.spark.jobs import (
    cluster_stats,
    conformance_runs,
    copy_ledgers,
    entry_logs,
    export_ledgers,
    import_files,
    scrub_replicas,
    sweep_sinks,
)
from bookkeeper_tx.spark.jobs.arguments import Cluster, Output, quorums
from bookkeeper_tx.spark.jobs.running_tasks import running_tasks
from bookkeeper_tx.spark.jobs.steps import Progress
from bookkeeper_tx.spark.jobs.summary import ExitCode, Summary
from tests.integration.spark.scenarios import COUNT, OPEN_COUNT, Site, sink_of
from tests.integration.support.judged_runs import judged_runs


def done(job: Any, spark: Any, settings: Any) -> Summary:
    """Run a job that finds nothing wrong."""
    summary: Summary = job.run(spark, settings, Progress(lambda line: None))
    assert summary.exit_code is ExitCode.DONE, summary
    return summary


def rows_of(summary: Summary, title: str) -> list[tuple[Any, ...]]:
    return [row for table in summary.tables if table.title == title for row in table.rows]


def stats(spark: Any, site: Site, directory: Path) -> None:
    source = Cluster(site.uri, {"ledgers": f"{site.whole},{site.striped},{site.open}"})
    summary = done(cluster_stats, spark, cluster_stats.StatsSettings(source))
    assert summary.text == "3 ledgers on 2 bookies"
    assert [row[:3] for row in rows_of(summary, "ledgers by state")] == [("closed", 2, 2 * COUNT), ("open", 1, None)]


def export_and_import(spark: Any, site: Site, directory: Path) -> None:
    source = Cluster(site.uri, {"ledgers": f"{site.whole},{site.striped},{site.open}"})
    output = Output(str(directory / "out"))
    summary = done(export_ledgers, spark, export_ledgers.ExportSettings(source, output))
    rows = 2 * COUNT + OPEN_COUNT
    assert rows_of(summary, "export")[0][:3] == (3, rows, rows)
    sink = Cluster(site.uri, quorums(1))
    settings = import_files.ImportSettings(sink, sink_of(directory), output.path, ledgers=2, app_id="nightly")
    summary = done(import_files, spark, settings)
    assert {row[1] for row in rows_of(summary, "import")} == {rows}
    assert "nothing was written" in done(import_files, spark, settings).text


def copy_and_sweep(spark: Any, site: Site, directory: Path) -> None:
    source = Cluster(site.uri, {"ledgers": f"{site.whole},{site.striped}"})
    settings = copy_ledgers.CopySettings(source, Cluster(site.uri, quorums(1)), sink_of(directory), at_once=2)
    summary = done(copy_ledgers, spark, settings)
    assert [row[1:3] for row in rows_of(summary, "copy")] == [(2, 2 * COUNT)] * 2
    swept = Output(str(directory / "swept"), "json")
    settings_of_sweep = sweep_sinks.SweepSettings(site.uri, sink_of(directory), grace_s=0, output=swept)
    assert done(sweep_sinks, spark, settings_of_sweep).text == "0 leftovers deleted"


def scrub(spark: Any, site: Site, directory: Path) -> None:
    source = Cluster(site.uri, {"ledgers": f"{site.whole},{site.striped}"})
    findings = Output(str(directory / "findings"))
    summary = done(scrub_replicas, spark, scrub_replicas.ScrubSettings(source, output=findings))
    assert rows_of(summary, "read")[0][:3] == (2, 2, 3 * COUNT)
    assert spark.read.parquet(findings.path).count() == 0


def forensics(spark: Any, site: Site, directory: Path) -> None:
    output = Output(str(directory / "records"))
    summary = done(entry_logs, spark, entry_logs.EntryLogSettings(Cluster(site.uri), (site.logs,), output=output))
    (live,) = (row for row in rows_of(summary, "in the logs") if row[0] == "live")
    assert live[2] >= 3 * COUNT
    (total,) = spark.read.parquet(output.path).where("condition = 'live'").agg({"records": "sum"}).collect()
    assert total[0] == live[2]


def conformance(spark: Any, site: Site, directory: Path) -> None:
    run = judged_runs()[-1]
    (directory / "run.json").write_text(json.dumps(run))
    output = Output(str(directory / "cases"))
    settings = conformance_runs.ConformanceSettings((str(directory / "run.json"),), output)
    summary = done(conformance_runs, spark, settings)
    assert [row[1] for row in rows_of(summary, "targets")] == [run["target"]["name"]]
    assert spark.read.parquet(output.path).count() == len(run["results"])


def progress(spark: Any, site: Site, directory: Path) -> None:
    tasks_are_told_of(spark, directory)


def tasks_are_told_of(spark: Any, directory: Path) -> None:
    """Run tasks that wait until a line of progress has their number."""
    told = directory / "told"
    tasks = 4

    def wait(batches: Any) -> Any:
        deadline = time.monotonic() + 120
        while not told.exists():
            assert time.monotonic() < deadline, "nobody was told of the tasks"
            time.sleep(0.05)
        yield from batches

    def say(line: str) -> None:
        if f" of {tasks} tasks done" in line:
            told.touch()

    steps = Progress(say, interval_s=0.1)
    steps.watch(running_tasks(spark))
    with steps.step("waiting"):
        assert spark.range(0, 100, 1, tasks).mapInArrow(wait, "id BIGINT").count() == 100


JOBS: Final = (stats, export_and_import, copy_and_sweep, scrub, forensics, conformance, progress)

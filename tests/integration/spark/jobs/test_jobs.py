"""Jobs in a real session, with bookies of ours."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from bookkeeper_tx.spark.jobs import (
    cluster_stats,
    conformance_runs,
    copy_ledgers,
    entry_logs,
    export_ledgers,
    import_files,
    sweep_sinks,
)
from bookkeeper_tx.spark.jobs.arguments import Cluster, Output
from bookkeeper_tx.spark.jobs.failure import CannotBeDone
from bookkeeper_tx.spark.jobs.sink_ledgers import write_once
from bookkeeper_tx.spark.jobs.summary import ExitCode, Summary
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.sink.manifest import EpochKey
from bookkeeper_tx.spark.sink.mark import SinkMark
from tests.integration.spark.job_scenarios import tasks_are_told_of
from tests.integration.spark.jobs.filled import COUNT, OPEN_COUNT, SECRET, Filled, rows_of
from tests.integration.support.judged_runs import judged_runs
from tests.integration.support.our_client import OurClient, append_and_close
from tests.integration.support.payloads import payloads

pytestmark = pytest.mark.spark


# Export --------------------------------------------------------------------------------------------------------------


def test_every_entry_is_exported_and_counted(
    spark: Any,
    filled: Filled,
    do: Callable[..., Summary],
    tmp_path: Path,
) -> None:
    source = filled.source(ledgers=f"{filled.whole},{filled.striped},{filled.open}")
    output = Output(str(tmp_path / "out"), partition_by=("ledger_id",))
    summary = do(export_ledgers, export_ledgers.ExportSettings(source, output))
    assert summary.exit_code == ExitCode.DONE
    written = 2 * COUNT + OPEN_COUNT
    size = 2 * sum(map(len, payloads(COUNT))) + sum(map(len, payloads(OPEN_COUNT)))
    assert rows_of(summary, "export") == [(3, written, written, size, 0)]
    found = spark.read.parquet(output.path).where(f"ledger_id = {filled.whole}").orderBy("entry_id").collect()
    assert [bytes(row.payload) for row in found] == payloads(COUNT)


@pytest.mark.full
def test_ranges_passwords_and_scopes_may_be_exported_to_any_format(
    filled: Filled, do: Callable[..., Summary], tmp_path: Path
) -> None:
    cut = filled.source(ledgers=f"{filled.whole}", startingOffsets=json.dumps({filled.whole: 100}))
    summary = do(export_ledgers, export_ledgers.ExportSettings(cut, Output(str(tmp_path / "cut"), "json")))
    assert (summary.exit_code, rows_of(summary, "export")[0][:3]) == (ExitCode.DONE, (1, COUNT - 100, COUNT - 100))
    secret = tmp_path / "password"
    secret.write_bytes(SECRET + b"\n")
    locked = filled.source(ledgers=f"{filled.mac}", passwordFile=str(secret))
    summary = do(export_ledgers, export_ledgers.ExportSettings(locked, Output(str(tmp_path / "mac"), "orc")))
    assert (summary.exit_code, rows_of(summary, "export")[0][:3]) == (ExitCode.DONE, (1, 10, 10))
    scoped = filled.source(scope="7")
    summary = do(export_ledgers, export_ledgers.ExportSettings(scoped, Output(str(tmp_path / "scoped"))))
    assert (summary.exit_code, rows_of(summary, "export")[0][:3]) == (ExitCode.DONE, (1, 4, 4))


class LosingOutput(Output):
    """Loses an entry of one ledger; of another ledger it has one entry twice, in place of the next."""

    def write(self, frame: Any) -> None:
        lost = frame.where(f"ledger_id <> {self.options['lost']} OR entry_id <> 5")
        twice = f"CASE WHEN ledger_id = {self.options['twice']} AND entry_id = 8 THEN 9 ELSE entry_id END AS entry_id"
        super().write(lost.selectExpr("ledger_id", twice, "payload"))


def test_what_is_not_written_is_found(filled: Filled, do: Callable[..., Summary], tmp_path: Path) -> None:
    source = filled.source(ledgers=f"{filled.whole},{filled.striped}")
    output = LosingOutput(str(tmp_path / "out"), options={"lost": str(filled.whole), "twice": str(filled.striped)})
    summary = do(export_ledgers, export_ledgers.ExportSettings(source, output))
    assert summary.exit_code == ExitCode.FOUND
    assert [(row[0], row[-1]) for row in rows_of(summary, "ledgers that differ")] == [
        (filled.whole, "not as many rows as entries"),
        (filled.striped, "rows of other entries"),
    ]


# Import and copy -----------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_rows_are_imported_once(
    spark: Any,
    other: Cluster,
    do: Callable[..., Summary],
    tmp_path: Path,
) -> None:
    path = str(tmp_path / "rows")
    spark.range(2000, 0, -1, 2).selectExpr("id", "concat('row ', id) AS text").write.json(path)
    settings = import_files.ImportSettings(
        other, "imported", path, "json", column="text", order_by=("id",), ledgers=2, app_id="o'neil"
    )
    summary = do(import_files, settings)
    assert summary.exit_code == ExitCode.DONE
    given, stored = rows_of(summary, "import")
    assert given[1:4] == stored[1:4]
    assert (stored[1], stored[4]) == (2000, 2)
    entries = other.load(spark, Use.READ, manifest="imported").orderBy("ledger_id", "entry_id").collect()
    numbers = [int(bytes(row.payload).removeprefix(b"row ")) for row in entries]
    # Which of the two tasks made its ledger first is not known; each wrote its half in order.
    second = next(index for index, row in enumerate(entries) if row.ledger_id != entries[0].ledger_id)
    halves = sorted([numbers[:second], numbers[second:]])
    assert halves[0] + halves[1] == [*range(1, 2001)]
    output = Output(str(tmp_path / "published"))
    again = do(import_files, evolve(settings, output=output))
    named = spark.read.parquet(output.path).collect()
    assert {row.ledger_id for row in named} == {row.ledger_id for row in entries}
    assert {(row.app_id, row.txn_version) for row in named} == {("o'neil", 0)}
    assert (again.exit_code, "nothing was written" in again.text) == (ExitCode.DONE, True)
    assert other.load(spark, Use.READ, manifest="imported").count() == 2000
    spark.range(3).selectExpr("concat('row ', id) AS text").write.mode("append").json(path)
    assert do(import_files, settings).exit_code == ExitCode.FOUND
    with pytest.raises(CannotBeDone, match="has no column payload, only id, text"):
        do(import_files, evolve(settings, column="payload"))


@pytest.mark.full
def test_ledgers_are_copied_once_and_compared(
    spark: Any,
    filled: Filled,
    other: Cluster,
    do: Callable[..., Summary],
    tmp_path: Path,
) -> None:
    source = filled.source(ledgers=f"{filled.whole},{filled.striped},{filled.open}")
    settings = copy_ledgers.CopySettings(source, other, "copies", at_once=2)
    summary = do(copy_ledgers, settings)
    size = 2 * sum(map(len, payloads(COUNT)))
    assert summary.exit_code == ExitCode.DONE
    assert rows_of(summary, "copy") == [("source", 2, 2 * COUNT, size), ("sink copies", 2, 2 * COUNT, size)]
    assert rows_of(summary, "left out") == [("open", 1)]
    copied = other.load(spark, Use.READ, manifest="copies").collect()
    assert sorted((row.entry_id, bytes(row.payload)) for row in copied) == sorted(2 * [*enumerate(payloads(COUNT))])
    output = Output(str(tmp_path / "compared"), "json")
    assert do(copy_ledgers, evolve(settings, output=output)).exit_code == ExitCode.DONE
    compared = {row.name: row for row in spark.read.json(output.path).collect()}
    assert set(compared) == {str(filled.whole), str(filled.striped)}
    assert all((row.entries, row.copied_entries) == (COUNT, COUNT) for row in compared.values())
    assert other.load(spark, Use.READ, manifest="copies").count() == 2 * COUNT


@pytest.mark.full
def test_a_copy_that_is_another_is_found(
    spark: Any,
    filled: Filled,
    other: Cluster,
    do: Callable[..., Summary],
) -> None:
    source = filled.source(ledgers=f"{filled.whole},{filled.striped}")
    swapped = payloads(COUNT)
    swapped[3], swapped[6] = swapped[6], swapped[3]  # as many entries and bytes, and the same ones
    frame = spark.createDataFrame([(each,) for each in swapped], "payload BINARY").coalesce(1)
    write_once(frame, other, "wrong", f"copy-{filled.whole}", 0)
    summary = do(copy_ledgers, copy_ledgers.CopySettings(source, other, "wrong"))
    assert summary.exit_code == ExitCode.FOUND
    assert [(row[0], row[-1]) for row in rows_of(summary, "ledgers that differ")] == [
        (str(filled.whole), "other entries")
    ]


# Stats, sweep, entry logs --------------------------------------------------------------------------------------------


@pytest.mark.full
def test_stats(spark: Any, filled: Filled, do: Callable[..., Summary], tmp_path: Path) -> None:
    output = Output(str(tmp_path / "stats"), "json")
    summary = do(cluster_stats, cluster_stats.StatsSettings(filled.source(), output))
    size = 2 * sum(map(len, payloads(COUNT))) + sum(map(len, payloads(10)))
    assert rows_of(summary, "ledgers by state") == [("closed", 3, 2 * COUNT + 10, size), ("open", 1, None, None)]
    bookies = summary.tables[2].rows
    assert sorted(row[0] for row in bookies) == sorted(filled.bookies)
    # Three copies of one ledger and two of the others, on three bookies.
    assert [row[2] for row in bookies] == 3 * [COUNT + round((COUNT + 10) * 2 / 3)]
    assert [row[4] for row in bookies] == 3 * ["1.00"]
    assert spark.read.json(output.path).where("section = 'bookie' AND free_bytes > 0").count() == 3


@pytest.mark.full
def test_entry_logs(filled: Filled, do: Callable[..., Summary], tmp_path: Path) -> None:
    logs = str(filled.cluster.directory / "bookie-*" / "data" / "current" / "*.log")
    settings = entry_logs.EntryLogSettings(Cluster(filled.cluster.metadata_uri), (logs,))
    summary = do(entry_logs, settings)
    assert summary.exit_code == ExitCode.DONE
    conditions = {row[0]: row[1:] for row in rows_of(summary, "in the logs")}
    stored = sum(len(payload) + 36 + 4 for payload in payloads(COUNT))
    assert conditions["orphan"] == (1, 3 * COUNT, 3 * stored)
    assert conditions["live"][0] == 4
    assert "problem" not in conditions
    (garbage,) = rows_of(summary, "ledgers with most garbage")
    assert garbage == (0, filled.deleted, 3 * stored, 3 * stored, 100.0)
    torn = tmp_path / "1.log"
    log = next(iter(sorted((filled.cluster.directory / "bookie-0" / "data" / "current").glob("*.log"))))
    shutil.copy(log, torn)
    with torn.open("r+b") as file:
        file.truncate(log.stat().st_size - 9)
    summary = do(entry_logs, evolve(settings, paths=(str(torn),)))
    assert (summary.exit_code, "1 place cannot be read" in summary.text) == (ExitCode.FOUND, True)


def test_a_sweep(spark: Any, other: Cluster, do: Callable[..., Summary], tmp_path: Path) -> None:
    rows = spark.range(10).selectExpr("cast(cast(id AS STRING) AS BINARY) AS payload").coalesce(1)
    write_once(rows, other, "swept", "once", 0)
    with OurClient(other.metadata_uri) as client:
        # The ledger of an attempt whose driver died.
        mark = SinkMark("swept", EpochKey("nightly", 3), partition=2, attempt=0, task_attempt_id=7)
        leftover = append_and_close(client.create_ledger(custom=mark.to_custom_metadata()), payloads(COUNT))
    output = Output(str(tmp_path / "leftovers"))
    settings = sweep_sinks.SweepSettings(other.metadata_uri, "swept", 0.0, dry_run=True)
    summary = do(sweep_sinks, settings)
    assert (summary.exit_code, rows_of(summary, "sweep")) == (ExitCode.DONE, [(1, 0, 1, 0)])
    summary = do(sweep_sinks, evolve(settings, dry_run=False, output=output))
    assert (summary.exit_code, rows_of(summary, "sweep")) == (ExitCode.DONE, [(1, 0, 1, 1)])
    (row,) = spark.read.parquet(output.path).collect()
    assert (row.ledger_id, row.query_id, row.epoch, row.partition, row.deleted) == (leftover, "nightly", 3, 2, True)
    assert other.load(spark, Use.LEDGERS).where(f"ledger_id = {leftover}").count() == 0
    assert other.load(spark, Use.READ, manifest="swept").count() == 10


def test_a_step_says_how_many_tasks_are_done(spark: Any, tmp_path: Path) -> None:
    tasks_are_told_of(spark, tmp_path)


# Conformance ---------------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_conformance_runs_beside_each_other(
    spark: Any,
    do: Callable[..., Summary],
    tmp_path: Path,
) -> None:
    runs = judged_runs()
    (tmp_path / "several.json").write_text(json.dumps(runs))
    other_time = {**runs[0], "started": "2030-01-01T00:00:00Z"}
    other_time["results"] = [
        {**result, "verdict": "fail" if number == 0 else result["verdict"]}
        for number, result in enumerate(other_time["results"])
    ]
    (tmp_path / "one.json").write_text(json.dumps(other_time, indent=1))
    output = Output(str(tmp_path / "cases"))
    settings = conformance_runs.ConformanceSettings((str(tmp_path / "*.json"),), output)
    summary = do(conformance_runs, settings)
    assert summary.exit_code == ExitCode.FOUND
    wrong = other_time["results"][0]
    name = runs[0]["target"]["name"]
    row = spark.read.parquet(output.path).where(f"case = '{wrong['case']}' AND dialect = '{wrong['dialect']}'").first()
    assert row.failed == 1
    assert row[name] == " ".join(sorted({"fail", runs[0]["results"][0]["verdict"]}))
    assert {(each[1], each[2]) for each in rows_of(summary, "targets")} >= {(name, 2)}
    (tmp_path / "odd.json").write_text('{"hello": 1}')
    with pytest.raises(CannotBeDone, match=r"odd\.json is no run"):
        do(conformance_runs, settings)

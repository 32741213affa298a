"""Jobs in a real session, with bookies of ours, and a Java client."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve, frozen

from bookkeeper_tx.cli.main import run_command
from bookkeeper_tx.client.ledger_writer import LedgerWriter
from bookkeeper_tx.model import DigestType, LedgerId
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
from bookkeeper_tx.spark.jobs.failure import CannotBeDone
from bookkeeper_tx.spark.jobs.sink_ledgers import write_once
from bookkeeper_tx.spark.jobs.steps import Progress
from bookkeeper_tx.spark.jobs.summary import ExitCode, Summary
from bookkeeper_tx.spark.option import Use
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.cli.bktx_process import COMMAND, environment
from tests.integration.our_client import OurClient, append, wait_for
from tests.integration.planted_damage import StoppedBookie
from tests.integration.spark_session import spark  # noqa: F401

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
RELEASE = "4.18.0"

COUNT = 120
OPEN_COUNT = 7
SECRET = b"secret"


def payloads(count: int) -> list[bytes]:
    return [b"entry %d" % number * (number % 3 + 1) for number in range(count)]


@frozen
class Filled:
    """A cluster of three bookies and its ledgers."""

    cluster: LocalCluster
    whole: int
    striped: int
    mac: int
    open: int
    scoped: int
    deleted: int

    def source(self, **options: str) -> Cluster:
        return Cluster(self.cluster.metadata_uri, options)

    @property
    def bookies(self) -> list[str]:
        return self.cluster.bookie_ids[:3]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    with (
        LocalCluster(tmp_path_factory.mktemp("jobs"), bookie_count=3) as cluster,
        OurClient(cluster.metadata_uri, protocol="v3") as client,
    ):
        yield fill(cluster, client)


def fill(cluster: LocalCluster, client: OurClient) -> Filled:
    def written(writer: LedgerWriter, count: int) -> int:
        append(writer, payloads(count))
        wait_for(writer.close)
        return int(writer.ledger_id)

    whole = written(client.create_ledger(3, 3, 2), COUNT)
    striped = written(client.create_ledger(3, 2, 2), COUNT)
    mac = written(client.create_ledger(3, 2, 2, digest=DigestType.MAC, password=SECRET), 10)
    deleted = written(client.create_ledger(3, 3, 2), COUNT)
    wait_for(client.bookkeeper.delete_ledger, deleted)
    unfinished = client.create_ledger(3, 3, 3)
    append(unfinished, payloads(OPEN_COUNT))
    append(unfinished, [b"not confirmed to anybody yet"])
    scoped = wait_for(client.bookkeeper.create_ledger, 3, 3, 2, DigestType.CRC32C, b"", ledger_id=LedgerId(5, 7))
    written(scoped, 4)
    for index in range(3):
        cluster.restart(index)  # what is in memory goes to the entry logs
    return Filled(cluster, whole, striped, mac, unfinished.ledger_id, scoped.ledger_id, deleted)


@pytest.fixture
def do(spark: Any) -> Callable[..., Summary]:  # noqa: F811
    """``do(job, settings)`` runs a job without its command line."""

    def do(job: Any, settings: Any) -> Summary:
        lines: list[str] = []
        summary = job.run(spark, settings, Progress(lines.append))
        assert lines
        return summary  # type: ignore[no-any-return]

    return do


def rows_of(summary: Summary, title: str) -> list[tuple[Any, ...]]:
    return [row for table in summary.tables if table.title == title for row in table.rows]


# Export --------------------------------------------------------------------------------------------------------------


def test_every_entry_is_exported_and_counted(
    spark: Any,  # noqa: F811
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
    """Loses an entry of one ledger, and has another of another one twice in place of its neighbour."""

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


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Another cluster, with one bookie."""
    with LocalCluster(tmp_path_factory.mktemp("other"), bookie_count=1) as cluster:
        yield Cluster(cluster.metadata_uri, quorums(1))


def test_rows_are_imported_once(
    spark: Any,  # noqa: F811
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


def test_ledgers_are_copied_once_and_compared(
    spark: Any,  # noqa: F811
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


def test_a_copy_that_is_another_is_found(
    spark: Any,  # noqa: F811
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


def test_stats(spark: Any, filled: Filled, do: Callable[..., Summary], tmp_path: Path) -> None:  # noqa: F811
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


def test_entry_logs(filled: Filled, do: Callable[..., Summary], tmp_path: Path) -> None:
    logs = str(filled.cluster.directory / "bookie-*" / "data" / "current" / "*.log")
    settings = entry_logs.EntryLogSettings(filled.cluster.metadata_uri, (logs,))
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


def test_a_sweep(spark: Any, other: Cluster, do: Callable[..., Summary], tmp_path: Path) -> None:  # noqa: F811
    rows = spark.range(10).selectExpr("cast(cast(id AS STRING) AS BINARY) AS payload").coalesce(1)
    write_once(rows, other, "swept", "once", 0)
    output = Output(str(tmp_path / "leftovers"))
    settings = sweep_sinks.SweepSettings(other.metadata_uri, "swept", 0.0, dry_run=True, output=output)
    summary = do(sweep_sinks, settings)
    assert (summary.exit_code, rows_of(summary, "sweep")) == (ExitCode.DONE, [(1, 0, 0, 0)])
    assert spark.read.parquet(output.path).count() == 0


# Conformance ---------------------------------------------------------------------------------------------------------


def test_conformance_runs_beside_each_other(
    spark: Any,  # noqa: F811
    do: Callable[..., Summary],
    tmp_path: Path,
) -> None:
    runs = json.loads((ROOT / "docs" / "_extra" / "conformance" / "full" / "matrix.json").read_text())[:2]
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


# Command lines -------------------------------------------------------------------------------------------------------


def test_the_command_line_ends_with_the_exit_code(
    spark: Any,  # noqa: F811
    filled: Filled,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    metadata = ["--metadata", filled.cluster.metadata_uri]
    assert run_command(["spark", "stats", *metadata]) == ExitCode.DONE
    assert "ledgers by state" in capsys.readouterr().out
    # The session of this process is the one that goes on.
    assert spark.range(3).count() == 3
    export = ["spark", "export", *metadata, "--output", str(tmp_path / "out")]
    assert run_command([*export, "--ledgers", "4711"]) == ExitCode.FAILED
    assert "error: the metadata of 1 ledger cannot be read (4711: " in capsys.readouterr().err
    assert run_command([*export, "-O", "ledgrs=4711"]) == ExitCode.USAGE
    assert "did you mean ledgers" in capsys.readouterr().err
    password = ["--ledgers", str(filled.mac)]
    assert run_command([*export, *password]) == ExitCode.FAILED
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"error: ledger {filled.mac}: wrong password; option passwordFile names the file with the right one"
        " (it is not given, so no password was tried)"
    )
    assert run_command(["spark", "export", *metadata]) == ExitCode.USAGE


def test_errors_of_tasks_are_one_line_and_no_stack(filled: Filled, tmp_path: Path) -> None:
    """In a process of its own, for what the JVM writes to standard error is not ours to catch."""
    output = tmp_path / "there"
    output.mkdir()
    arguments = ["spark", "export", "--ledgers", str(filled.striped), "--output", str(output)]
    ended = subprocess.run(
        [*COMMAND, *arguments, "--metadata", filled.cluster.metadata_uri],
        capture_output=True,
        text=True,
        timeout=240,
        env=environment(),
    )
    assert ended.returncode == ExitCode.FAILED
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert lines[-1].startswith("error: Path file:")
    assert all(line.startswith(("[", "error: ")) for line in lines), ended.stderr


def test_the_same_file_runs_under_spark_submit(filled: Filled) -> None:
    import pyspark

    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    ended = subprocess.run(
        [
            *(submit, "--master", "local[2]", "--conf", "spark.ui.enabled=false", "--conf", "spark.log.level=OFF"),
            *("--conf", "spark.sql.shuffle.partitions=2", "--conf", "spark.python.unix.domain.socket.enabled=true"),
            *(cluster_stats.__file__, "--metadata", filled.cluster.metadata_uri),
        ],
        capture_output=True,
        text=True,
        timeout=240,
        env={**environment(), "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable},
    )
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "4 ledgers on 3 bookies"), ended.stderr


# A ledger of the Java client -----------------------------------------------------------------------------------------


@pytest.mark.java
def test_ledgers_of_the_java_client(
    spark: Any,  # noqa: F811
    do: Callable[..., Summary],
    cluster: Any,
    other: Cluster,
    java_bookie: Callable[..., Any],
    java_client: Callable[..., Any],
    tmp_path: Path,
) -> None:
    bookies = [java_bookie(RELEASE) for _ in range(2)]
    client = java_client(RELEASE)
    ledger, unfinished = client.create_ledger(2, 2, 2), client.create_ledger(2, 2, 2)
    for payload in payloads(40):
        ledger.append(payload)
    ledger.close()
    for payload in payloads(OPEN_COUNT + 1):
        unfinished.append(payload)
    source, output = Cluster(cluster.uri), Output(str(tmp_path / "out"))
    summary = do(export_ledgers, export_ledgers.ExportSettings(source, output))
    sizes = [sum(map(len, payloads(count))) for count in (40, OPEN_COUNT)]
    rows = 40 + OPEN_COUNT
    assert (summary.exit_code, rows_of(summary, "export")) == (ExitCode.DONE, [(2, rows, rows, sum(sizes), 0)])
    exported = spark.read.parquet(output.path).orderBy("ledger_id", "entry_id").collect()
    assert [bytes(row.payload) for row in exported] == payloads(40) + payloads(OPEN_COUNT)
    summary = do(cluster_stats, cluster_stats.StatsSettings(source))
    assert rows_of(summary, "ledgers by state")[0] == ("closed", 1, 40, sizes[0])
    assert len(summary.tables[2].rows) == 2
    summary = do(scrub_replicas, scrub_replicas.ScrubSettings(source))
    assert (summary.exit_code, rows_of(summary, "read")[0][:3]) == (ExitCode.DONE, (2, 2, 2 * rows))
    # Nobody was fenced by all this.
    unfinished.append(b"and on")
    unfinished.close()
    summary = do(copy_ledgers, copy_ledgers.CopySettings(source, other, "of-java"))
    assert rows_of(summary, "copy")[1][:3] == ("sink of-java", 2, rows + 2)
    bookies[0].stop()
    StoppedBookie(bookies[0].ledger_dir).flip(ledger.ledger_id, 7)
    bookies[0].start()
    summary = do(scrub_replicas, scrub_replicas.ScrubSettings(source))
    assert summary.exit_code == ExitCode.FOUND
    assert [(row[0], *row[1:4], *row[5:7]) for row in rows_of(summary, "findings")] == [
        ("corrupt", ledger.ledger_id, 7, 7, 1, 2),
        ("under-replicated", ledger.ledger_id, 7, 7, 1, 2),
    ]
    logs = str(bookies[0].ledger_dir / "current" / "*.log")
    summary = do(entry_logs, entry_logs.EntryLogSettings(cluster.uri, (logs,)))
    live = next(row for row in rows_of(summary, "in the logs") if row[0] == "live")
    assert (summary.exit_code, live[1:3]) == (ExitCode.DONE, (2, rows + 2))

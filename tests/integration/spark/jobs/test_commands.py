"""The command lines of jobs: exit codes, and errors of one line."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.cli.main import run_command
from bookkeeper_tx.spark.jobs import cluster_stats
from bookkeeper_tx.spark.jobs.summary import ExitCode
from tests.cli.bktx_process import COMMAND, environment
from tests.integration.spark import process
from tests.integration.spark.jobs.filled import Filled

pytestmark = pytest.mark.spark


@pytest.mark.full
def test_the_command_line_ends_with_the_exit_code(
    spark: Any,
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


@pytest.mark.full
def test_errors_of_tasks_are_one_line_and_no_stack(filled: Filled, tmp_path: Path) -> None:
    """In a process of its own, since pytest cannot capture the JVM's standard error."""
    output = tmp_path / "there"
    output.mkdir()
    arguments = ["spark", "export", "--ledgers", str(filled.striped), "--output", str(output)]
    ended = subprocess.run(
        [*COMMAND, *arguments, "--metadata", filled.cluster.metadata_uri],
        capture_output=True,
        text=True,
        timeout=800,
        env=environment(),
    )
    assert ended.returncode == ExitCode.FAILED
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert lines[-1].startswith("error: Path file:")
    assert all(line.startswith(("[", "error: ")) for line in lines), ended.stderr


@pytest.mark.full
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
        timeout=800,
        env=process.environment(),
    )
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, "4 ledgers on 3 bookies"), ended.stderr

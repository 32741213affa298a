"""Command lines of jobs, and the settings and exit codes that follow from them."""

import importlib
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner

from bookkeeper_tx.cli.spark import JOBS
from bookkeeper_tx.errors import InvalidConfig, NoSuchLedger
from bookkeeper_tx.spark.jobs.arguments import (
    Cluster,
    Output,
    cluster_arguments,
    options_of,
    output_arguments,
    quorums,
    sink_arguments,
)
from bookkeeper_tx.spark.jobs.launch import Launch, launch
from bookkeeper_tx.spark.jobs.summary import ExitCode, Summary
from bookkeeper_tx.spark.options.option import Use


def parsed(*arguments: str) -> dict[str, Any]:
    """Return the values that a command with all shared options gets."""
    found: dict[str, Any] = {}

    @click.command()
    @cluster_arguments
    @output_arguments(partitioned=True)
    @sink_arguments(uri_option="--to")
    def command(**values: Any) -> None:
        found.update(values)

    result = CliRunner().invoke(command, [*arguments, "--metadata", "zk://a", "--to", "zk://b", "--sink-id", "s"])
    assert result.exit_code == 0, result.output
    return found


def test_a_cluster_and_what_is_read_of_it() -> None:
    found = parsed("--ledgers", "1,5-", "--password-file", "p", "-O", "batch=false", "--option", "scope=all")["cluster"]
    options = {"ledgers": "1,5-", "passwordFile": "p", "batch": "false", "scope": "all"}
    assert found == Cluster("zk://a", options)
    assert found.selects
    assert not parsed()["cluster"].selects
    assert parsed("-O", "ledgerMetadata.App=x")["cluster"].selects


def test_the_scope_of_the_ledgers() -> None:
    found = parsed("--ledgers", "1,5-", "--ledger-scope-id", "-12")["cluster"]
    assert found == Cluster("zk://a", {"ledgers": "1,5-", "scope": "-12"})
    assert parsed("-O", "scope=all")["cluster"].options == {"scope": "all"}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--ledger-scope-id", "3", "--manifest", "s"], "leave --ledger-scope-id out"),
        (["--ledger-scope-id", "3", "-O", "Manifest=s"], "leave --ledger-scope-id out"),
        (["--ledger-scope-id", "0", "-O", "Scope=5", "--ledgers", "7"], "not both"),
        (["--ledger-scope-id", "3", "--ledgers", "7," + "0" * 31 + "7"], "leave --ledger-scope-id out"),
    ],
)
def test_a_scope_is_not_said_twice(given: list[str], said: str) -> None:
    command = importlib.import_module("bookkeeper_tx.spark.jobs.cluster_stats").command
    result = CliRunner().invoke(command, ["--metadata", "zk://a", *given])
    assert (result.exit_code, said in result.output) == (ExitCode.USAGE, True)


def test_an_output() -> None:
    assert parsed()["output"] is None
    arguments = ["--output", "/x", "--format", "json", "--overwrite", "--output-option", "a=b=c", "--partition-by", "d"]
    assert parsed(*arguments)["output"] == Output("/x", "json", True, {"a": "b=c"}, ("d",))


def test_a_sink() -> None:
    found = parsed("--replicas", "4", "--sink-password-file", "p", "--sink-option", "ackQuorumSize=2")
    assert found["sink_id"] == "s"
    options = {"ensembleSize": "4", "writeQuorumSize": "4", "ackQuorumSize": "2", "passwordFile": "p"}
    assert found["sink"] == Cluster("zk://b", options)
    assert quorums(None) == {}
    short = parsed("--replicas", "4", "--sink-password-file", "p", "--sink-option", "ackquorum=2")
    assert short["sink"] == found["sink"]


def test_options_go_to_the_formats_that_know_them() -> None:
    given = {"LEDGERS": "1", "batch": "true", "startingOffsets": "earliest", "ledgerMetadata.a": "b", "ledgrs": "1"}
    assert options_of(Use.READ, given) == given
    assert options_of(Use.LEDGERS, given) == {"LEDGERS": "1", "ledgerMetadata.a": "b", "ledgrs": "1"}
    assert options_of(Use.BOOKIES, given) == {"ledgrs": "1"}
    sink = {"ackQuorum": "1", "WRITEQUORUM": "1", "ensembleSize": "1"}
    assert (options_of(Use.WRITE, sink), options_of(Use.READ, sink)) == (sink, {})


def test_all_ledgers_of_a_cluster_are_read_over_the_same_connection() -> None:
    key = "bookkeeper.client.zkEnableSecurity"
    cluster = Cluster("zk://a", {"ledgers": "1", "batch": "true", "passwordFile": "p", key: "true"})
    assert cluster.whole() == Cluster("zk://a", {key: "true", "scope": "all"})


def test_the_metadata_beside_entry_logs_may_be_secured(monkeypatch: pytest.MonkeyPatch) -> None:
    job = importlib.import_module("bookkeeper_tx.spark.jobs.entry_logs")
    found: list[Any] = []
    monkeypatch.setattr(job, "launch", lambda _, settings: found.append(settings))
    pair = ("bookkeeper.client.zkEnableSecurity", "true")
    CliRunner().invoke(job.command, ["--metadata", "zk://a", "-O", "=".join(pair), "/logs"], catch_exceptions=False)
    assert found == [job.EntryLogSettings(Cluster("zk://a", dict([pair])), ("/logs",))]
    with pytest.raises(InvalidConfig, match="option batch: this job does nothing with it"):
        job.run(None, job.EntryLogSettings(Cluster("zk://a", {"batch": "true"}), ("/logs",)), None)


def test_a_job_says_itself_which_table_it_reads() -> None:
    with pytest.raises(InvalidConfig, match="option table: a job reads the tables that it needs"):
        Cluster("zk://a", {"Table": "ledgers"}).load(None, Use.READ)


def test_what_is_no_pair_is_wrong_usage() -> None:
    command = importlib.import_module("bookkeeper_tx.spark.jobs.cluster_stats").command
    result = CliRunner().invoke(command, ["--metadata", "zk://a", "-O", "batch"])
    assert (result.exit_code, "'batch' is not KEY=VALUE" in result.output) == (ExitCode.USAGE, True)


@pytest.mark.parametrize("name", JOBS)
def test_each_job_is_a_file_with_a_command(name: str) -> None:
    job = importlib.import_module(f"bookkeeper_tx.spark.jobs.{JOBS[name][0]}")
    result = CliRunner().invoke(job.command, ["--help"])
    assert result.exit_code == 0
    assert f"bktx spark {name}" in result.output
    assert callable(job.run)
    with pytest.raises(SystemExit) as ended:
        job.main(["--no-such-option"])
    assert ended.value.code == ExitCode.USAGE


def launched(result: Summary | Exception, *, debug: bool = False) -> Any:
    """Run a job that ends like this; return the result of its command."""

    def run(_session: Any, _settings: None, _progress: Any) -> Summary:
        if isinstance(result, Exception):
            raise result
        return result

    @click.command()
    def command() -> None:
        launch(run, None)

    return CliRunner().invoke(
        command, obj=Launch(lambda: SimpleNamespace(registerProgressHandler=lambda handler: None), debug)
    )


@pytest.mark.parametrize(
    ("result", "code", "text"),
    [
        (Summary("all is well"), ExitCode.DONE, "all is well"),
        (Summary("damage", exit_code=ExitCode.FOUND), ExitCode.FOUND, "damage"),
        (InvalidConfig("option x"), ExitCode.USAGE, "error: option x"),
        (NoSuchLedger("it is gone"), ExitCode.FAILED, "error: it is gone"),
        (RuntimeError("[X_Y] broken\n\nJVM stacktrace:\n at a.b(C.java)"), ExitCode.FAILED, "error: broken"),
    ],
)
def test_how_a_job_ends(result: Summary | Exception, code: ExitCode, text: str) -> None:
    ended = launched(result)
    assert ended.exit_code == code
    assert ended.output.splitlines()[-1] == text
    assert "Traceback" not in ended.output


def test_with_debug_an_error_has_its_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    assert "Traceback" in launched(ValueError("odd"), debug=True).output + capfd.readouterr().err

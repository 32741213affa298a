"""``bktx log`` against bookies of ours."""

import json
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.cli.bktx_process import COMMAND, bktx, environment
from tests.integration.support.programs import as_in_the_foreground
from tests.sampling import one_in, only

Run = Callable[..., str]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path_factory.mktemp("cluster"), 2) as running:
        yield running


@pytest.fixture(scope="module")
def run(cluster: LocalCluster) -> Run:
    """Run a command on the cluster; return its standard output.  Its exit code must be 0."""

    def run_command(*arguments: str, stdin: bytes = b"") -> str:
        done = bktx("log", *arguments, stdin=stdin, BKTX_METADATA=cluster.metadata_uri)
        assert (done.returncode, done.stderr.decode()) == (0, "")
        return done.stdout.decode()

    return run_command


def start(cluster: LocalCluster, *arguments: str) -> "subprocess.Popen[bytes]":
    """Start ``bktx log`` with a pipe for its lines."""
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    variables = environment() | {"BKTX_METADATA": cluster.metadata_uri}
    command = [*COMMAND, "log", *arguments]
    return subprocess.Popen(command, bufsize=0, env=variables, preexec_fn=as_in_the_foreground, **pipes)


def new_log(run: Run, name: str) -> str:
    assert run("create", name, "--replicas", "2", "--ack-quorum", "2") == ""
    return name


def test_lines_are_appended_and_read(run: Run) -> None:
    name = new_log(run, "orders")
    assert run("append", name, stdin=b"one\n\nthree") == "0:0\n0:1\n0:2\n"
    assert run("append", name, stdin=b"four\n") == "1:0\n"
    assert run("append", name) == ""
    assert run("read", name) == "one\n\nthree\nfour\n"
    assert run("read", name, "--positions") == "0:0\tone\n0:1\t\n0:2\tthree\n1:0\tfour\n"
    assert run("read", name, "--from", "0:2") == "three\nfour\n"
    assert run("read", name, "--from", "0:3") == "four\n"
    assert run("read", name, "--from", "9:0") == ""


def test_who_stands_by_goes_on_when_another_ends(cluster: LocalCluster, run: Run) -> None:
    name = new_log(run, "elected")
    with start(cluster, "append", name, "--stand-by") as first:
        assert first.stdin
        assert first.stdout
        first.stdin.write(b"one\n")
        assert first.stdout.readline() == b"0:0\n"
        with start(cluster, "append", name, "--stand-by") as given_up:
            assert given_up.stderr
            assert given_up.stderr.readline().endswith(b":%d leads\n" % first.pid)
            given_up.send_signal(signal.SIGINT)
            assert given_up.wait() == 130
        with start(cluster, "append", name, "--stand-by", "--lease", "2") as second:
            assert second.stdin
            assert second.stdout
            assert second.stderr
            second.stdin.write(b"two\n")
            assert second.stderr.readline().startswith(b"standing by: ")
            first.stdin.write(b"three\n")
            assert first.stdout.readline() == b"0:1\n"
            first.stdin.close()
            assert first.wait() == 0
            assert second.stdout.readline() == b"1:0\n"
            second.send_signal(signal.SIGSTOP)
            with start(cluster, "append", name, "--stand-by") as third:
                assert third.stdin
                assert third.stdout
                third.stdin.write(b"four\n")
                assert third.stdout.readline() == b"2:0\n"
                second.send_signal(signal.SIGCONT)
                assert second.wait() == 3
                third.stdin.close()
                assert third.wait() == 0
    assert run("read", name) == "one\nthree\ntwo\nfour\n"


def test_a_lease_is_for_those_who_stand_by(cluster: LocalCluster) -> None:
    done = bktx("log", "append", "orders", "--lease", "5", BKTX_METADATA=cluster.metadata_uri)
    assert done.returncode == 2
    assert b"--lease is for --stand-by" in done.stderr


@pytest.mark.full
def test_many_lines_go_across_ledgers(run: Run) -> None:
    name = new_log(run, "many")
    lines = b"".join(b"%d\n" % number for number in range(20_000))
    positions = run("append", name, "--roll-size", "20000", stdin=lines).splitlines()
    assert len(positions) == len(set(positions)) == 20_000
    assert run("read", name, "--positions").splitlines() == [
        f"{position}\t{number}" for number, position in enumerate(positions)
    ]
    (shown,) = [each for each in map(json.loads, run("list", "--json").splitlines()) if each["name"] == name]
    assert shown["ledgers"] >= 2  # how many, depends on how fast one is closed


@pytest.mark.full
def test_lines_go_on_in_another_ledger_after_a_time(cluster: LocalCluster, run: Run) -> None:
    name = new_log(run, "timed")
    with start(cluster, "append", name, "--roll-interval", "0.05") as appending:
        assert appending.stdin is not None
        assert appending.stdout is not None
        position = "0:"
        while position.startswith("0:"):
            appending.stdin.write(b"line\n")
            position = appending.stdout.readline().decode()
        assert position.startswith("1:")
        appending.stdin.close()
        assert appending.wait(30) == 0
    refused = bktx("log", "append", name, "--roll-interval", "0", BKTX_METADATA=cluster.metadata_uri)
    assert (refused.returncode, b"--roll-interval" in refused.stderr) == (2, True)


def test_positions_come_as_soon_as_lines_are_stored_and_followers_see_them(cluster: LocalCluster, run: Run) -> None:
    name = new_log(run, "live")
    with start(cluster, "append", name) as appending, start(cluster, "read", name, "--follow") as following:
        assert appending.stdin is not None
        assert appending.stdout is not None
        assert following.stdout is not None
        for number in range(3):
            appending.stdin.write(b"line %d\n" % number)
            assert appending.stdout.readline() == b"0:%d\n" % number
            assert following.stdout.readline() == b"line %d\n" % number
        assert run("read", name) == "line 0\nline 1\nline 2\n"
        appending.stdin.close()
        assert appending.wait(30) == 0
        run("append", name, stdin=b"another\n")
        assert following.stdout.readline() == b"another\n"
        following.send_signal(signal.SIGINT)
        assert following.wait(30) == 130


@pytest.mark.parametrize("idle", only(False, [False, True]))
def test_who_has_lost_the_log_ends_with_3_and_a_sentence(cluster: LocalCluster, run: Run, idle: bool) -> None:
    name = new_log(run, f"taken {idle}")
    with start(cluster, "append", name) as appending:
        assert appending.stdin is not None
        assert appending.stdout is not None
        assert appending.stderr is not None
        appending.stdin.write(b"mine\n")
        assert appending.stdout.readline() == b"0:0\n"
        assert run("append", name, stdin=b"yours\n") == "1:0\n"
        if not idle:
            appending.stdin.write(b"lost\nlost too\n")
        assert appending.wait(30) == 3
        assert appending.stdout.read() == b""
        (line,) = appending.stderr.read().decode().splitlines()
        assert line.startswith(f"error: another writer has taken log {name}")
    assert run("read", name) == "mine\nyours\n"


@pytest.mark.full
def test_who_appends_to_a_log_that_is_deleted_is_told_so(cluster: LocalCluster, run: Run) -> None:
    name = new_log(run, "deleted")
    with start(cluster, "append", name) as appending:
        assert appending.stdin is not None
        assert appending.stdout is not None
        assert appending.stderr is not None
        appending.stdin.write(b"mine\n")
        assert appending.stdout.readline() == b"0:0\n"
        assert bktx("log", "delete", name, "--yes", BKTX_METADATA=cluster.metadata_uri).returncode == 0
        assert appending.wait(30) == 1
        assert appending.stderr.read().decode() == "error: log deleted was deleted\n"


@pytest.mark.full
def test_an_interrupted_append_has_closed_its_ledger(cluster: LocalCluster, run: Run) -> None:
    name = new_log(run, "interrupted")
    with start(cluster, "append", name) as appending:
        assert appending.stdin is not None
        assert appending.stdout is not None
        appending.stdin.write(b"a\n")
        assert appending.stdout.readline() == b"0:0\n"
        appending.send_signal(signal.SIGINT)
        assert appending.wait(30) == 130
    assert run("read", name) == "a\n"


@pytest.mark.full
def test_a_log_is_truncated_and_deleted(cluster: LocalCluster, run: Run) -> None:
    name = new_log(run, "short")
    for number in range(4):
        run("append", name, stdin=b"%d\n" % number)
    assert run("truncate", name, "2:0") == "2:0\n"
    assert run("read", name) == "2\n3\n"
    uri = ["--metadata", cluster.metadata_uri]
    gone = bktx("log", "read", name, "--from", "1:0", *uri)
    assert gone.returncode == 1
    assert gone.stderr == b"error: position 1:0 of log short was truncated: the log starts at 2:0\n"
    assert "short" in run("list")
    assert bktx("log", "delete", name, *uri, stdin=b"n\n").returncode == 1
    deleted = bktx("log", "delete", name, "--yes", *uri)
    assert (deleted.returncode, deleted.stderr) == (0, b"deleted log short\n")
    assert "short" not in run("list")


@pytest.mark.full
def test_logs_are_listed_beside_one_that_cannot_be_understood(tmp_path: Path) -> None:
    uri = f"sqlite://{tmp_path / 'cluster.db'}"
    assert bktx("cluster", "init", "--metadata", uri).returncode == 0
    for name in ("bad", "good"):
        assert bktx("log", "create", name, BKTX_METADATA=uri).returncode == 0
    with closing(sqlite3.connect(tmp_path / "cluster.db")) as connection, connection:
        assert connection.execute("UPDATE records SET data = x'7b' WHERE path = 'logs/bad'").rowcount == 1
    as_json, as_table = (bktx("log", "list", *option, BKTX_METADATA=uri) for option in (["--json"], []))
    bad, good = map(json.loads, as_json.stdout.splitlines())
    assert (bad["name"], good["name"], good["ledgers"]) == ("bad", "good", 0)
    assert "the properties of log bad cannot be understood" in bad["error"]
    assert "the properties of log bad cannot be understood" in as_table.stdout.splitlines()[1].decode()
    assert as_table.stdout.splitlines()[2].startswith(b"good  0:0")
    for done in (as_json, as_table):
        assert (done.returncode, done.stderr) == (1, b"error: of 2 logs, these cannot be understood: bad\n")


@pytest.mark.full
def test_a_log_with_a_ledger_that_cannot_be_understood_is_deleted_once_that_is(tmp_path: Path) -> None:
    with LocalCluster(tmp_path, 1) as cluster:

        def run(*arguments: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
            return bktx(*arguments, stdin=stdin, BKTX_METADATA=cluster.metadata_uri)

        assert run("log", "create", "orders", "--replicas", "1").returncode == 0
        assert run("log", "append", "orders", stdin=b"a").returncode == 0
        path = cluster.metadata_uri.removeprefix("sqlite://")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE ledgers SET record = x'00'")
            ((ledger_id,),) = connection.execute("SELECT ledger_id FROM ledgers")
        refused = run("log", "delete", "orders", "--yes")
        assert refused.returncode == 1
        text = f"error: log orders is not deleted: its ledger {ledger_id} cannot be fenced"
        assert refused.stderr.decode().startswith(text)
        assert run("ledger", "delete", str(ledger_id), "--yes").returncode == 0
        assert run("log", "delete", "orders", "--yes").returncode == 0
        assert run("log", "list").stderr == b"there is no log\n"


@pytest.mark.parametrize(
    ("arguments", "exit_code", "text"),
    one_in(
        4,
        [
            (["append", "none"], 1, "error: there is no log none"),
            (["read", "none"], 1, "error: there is no log none"),
            (["truncate", "none", "0:0"], 1, "error: there is no log none"),
            (["delete", "none", "--yes"], 1, "error: there is no log none"),
            (["read", "none", "--from", "3"], 2, "'3' is no position"),
            (["create", ""], 1, "is no name of a log"),
        ],
    ),
)
def test_user_errors(cluster: LocalCluster, arguments: list[str], exit_code: int, text: str) -> None:
    done = bktx("log", *arguments, BKTX_METADATA=cluster.metadata_uri)
    assert done.returncode == exit_code
    assert text in done.stderr.decode()


@pytest.mark.full
def test_a_log_is_not_created_twice(cluster: LocalCluster, run: Run) -> None:
    name = new_log(run, "once")
    again = bktx("log", "create", name, "--metadata", cluster.metadata_uri)
    assert (again.returncode, again.stderr) == (1, b"error: log once exists already\n")

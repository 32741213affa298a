"""``bktx cluster``, ``bookie`` and ``ledger`` against bookies of ours."""

import json

import pytest

from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.cli.bktx_process import bktx, start
from tests.integration.support.our_client import OurClient, append, wait_for

LINES = b"first\n\n\n" + bytes(range(256)) + b"\nlast without end"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with LocalCluster(tmp_path_factory.mktemp("cluster"), 2) as running:
        yield running


@pytest.fixture(scope="module")
def run(cluster):
    """Run a command on the cluster; return its standard output.  Its exit code must be 0."""

    def run_command(*arguments, stdin=b"", **variables):
        done = bktx(*arguments, stdin=stdin, BKTX_METADATA=cluster.metadata_uri, **variables)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    return run_command


@pytest.fixture(scope="module")
def refused(cluster):
    """Run a command that must fail; return its one line of error."""

    def run_command(*arguments, stdin=b"", **variables):
        done = bktx(*arguments, stdin=stdin, BKTX_METADATA=cluster.metadata_uri, **variables)
        assert done.returncode == 1, done
        (*_, line) = done.stderr.decode().splitlines()
        assert line.startswith("error: ")
        assert b"Traceback" not in done.stderr
        return line

    return run_command


@pytest.mark.full
def test_a_cluster_is_made_once(tmp_path):
    uri = f"sqlite:///{tmp_path}/metadata.db"
    first = bktx("cluster", "init", "--metadata", uri)
    assert first.stdout.startswith(b"made a new cluster: instance ")
    second = bktx("cluster", "init", "--metadata", uri)
    assert second.stdout.startswith(b"there is a cluster already: instance ")
    assert first.stdout.split()[-1] == second.stdout.split()[-1]


@pytest.mark.full
def test_bookies_are_listed(cluster, run):
    shown = [json.loads(line) for line in run("bookie", "list", "--json").splitlines()]
    assert sorted(each["bookie_id"] for each in shown) == sorted(cluster.bookie_ids)
    assert {each["mode"] for each in shown} == {"writable"}
    assert {tuple(each["extensions"]) for each in shown} == {("batch-read-v3", "ledger-scope-id")}
    table = run("bookie", "list").decode()
    assert all(bookie_id in table for bookie_id in cluster.bookie_ids)


@pytest.mark.full
def test_a_row_of_a_table_is_one_line_where_there_is_no_terminal(cluster, run):
    ledger_id = run("ledger", "create", "--replicas", "2", COLUMNS="40").decode().strip()
    _, *rows = run("ledger", "list", COLUMNS="40").decode().splitlines()
    (row,) = (row for row in rows if row.split()[0] == ledger_id)
    assert all(bookie_id in row for bookie_id in cluster.bookie_ids)
    assert row == row.rstrip()


def test_what_is_written_is_read_byte_for_byte(run):
    ledger_id = run("ledger", "write", "--replicas", "2", stdin=LINES).decode().strip()
    assert run("ledger", "read", ledger_id) == LINES
    assert run("ledger", "read", ledger_id, "--single") == LINES
    assert run("ledger", "read", ledger_id, "--first", "1", "--last", "2") == b"\n\n"
    assert run("ledger", "read", ledger_id, "--first", "5", "--newline") == b"last without end\n"
    shown = json.loads(run("ledger", "show", ledger_id, "--json"))
    assert shown["state"] == "CLOSED"
    assert shown["last_entry_id"] == 5
    assert shown["length"] == len(LINES)
    assert (shown["ensemble_size"], shown["write_quorum_size"], shown["ack_quorum_size"]) == (2, 2, 2)


@pytest.mark.full
def test_many_lines_go_in_and_out(run):
    lines = b"".join(b"%d\n" % number for number in range(30_000))
    ledger_id = run("ledger", "write", "--replicas", "1", stdin=lines).decode().strip()
    assert run("ledger", "read", ledger_id) == lines


@pytest.mark.full
def test_nothing_is_a_ledger_without_entries(run):
    ledger_id = run("ledger", "write", "--replicas", "1").decode().strip()
    assert run("ledger", "read", ledger_id) == b""


@pytest.mark.full
def test_an_open_ledger_is_left_alone_unless_recovery_is_asked_for(cluster, run):
    ledger_id = run("ledger", "create", "--replicas", "2", "--custom", "owner=me").decode().strip()
    assert run("ledger", "read", ledger_id) == b""
    shown = json.loads(run("ledger", "show", ledger_id, "--json"))
    assert shown["state"] == "OPEN"
    assert shown["custom_metadata"] == {"owner": "me"}
    recovered = bktx("ledger", "read", ledger_id, "--recover", "--metadata", cluster.metadata_uri)
    assert b"warning: recovering" in recovered.stderr
    assert json.loads(run("ledger", "show", ledger_id, "--json"))["state"] == "CLOSED"


def test_a_ledger_is_followed_until_it_is_closed(cluster, run):
    ways = (["--first", "0"], [])
    with OurClient(cluster.metadata_uri) as client:
        writer = client.create_ledger()
        append(writer, [b"before\n"])
        name = str(writer.ledger_id)
        following = [start("ledger", "tail", name, *options, "--metadata", cluster.metadata_uri) for options in ways]
        try:
            append(writer, [b"now\n"])
            assert following[0].stdout.readline() == b"before\n"  # confirmed by the second add
            append(writer, [b"and now\n"])
            assert following[0].stdout.readline() == b"now\n"
            wait_for(writer.close)
            (rest, trouble), (new, _) = [each.communicate(timeout=60) for each in following]
        finally:
            for each in following:
                each.kill()
    assert (rest, trouble, following[0].returncode) == (b"and now\n", b"", 0)
    assert b"before\nnow\nand now\n".endswith(new)  # depends on when it came
    assert run("ledger", "tail", name) == b""
    assert run("ledger", "tail", name, "--first", "1", "--newline") == b"now\n\nand now\n\n"


@pytest.mark.full
def test_bookies_list_their_entries_and_what_they_lack(cluster, run):
    name = run("ledger", "write", "--replicas", "2", "--write-quorum", "1", stdin=b"\n" * 5).decode().strip()
    shown = [json.loads(line) for line in run("ledger", "entries", name, "--json").splitlines()]
    assert sorted(each["entries"] for each in shown) == [[[0, 0], [2, 2], [4, 4]], [[1, 1], [3, 3]]]
    assert [each["missing"] for each in shown] == [[], []]
    (line,) = run("ledger", "entries", name, "--bookie", shown[0]["bookie_id"]).decode().splitlines()
    assert line.split(": ")[0] == shown[0]["bookie_id"]
    assert len(line.split()) == 1 + len(shown[0]["entries"])
    open_name = run("ledger", "create", "--replicas", "1").decode().strip()
    (of_open,) = [json.loads(line) for line in run("ledger", "entries", open_name, "--json").splitlines()]
    assert (of_open["entries"], of_open["missing"]) == ([], None)
    nobody = bktx("ledger", "entries", name, "--bookie", "127.0.0.1:1", "--metadata", cluster.metadata_uri)
    assert (nobody.returncode, nobody.stderr) == (1, b"")
    assert nobody.stdout.startswith(b"127.0.0.1:1: ")


@pytest.mark.full
def test_a_ledger_can_be_closed_when_it_is_created(run):
    ledger_id = run("ledger", "create", "--replicas", "1", "--close").decode().strip()
    assert json.loads(run("ledger", "show", ledger_id, "--json"))["state"] == "CLOSED"


@pytest.mark.full
def test_passwords_come_from_a_file_or_the_environment(run, refused, tmp_path):
    password = tmp_path / "password"
    password.write_text("secret\n")
    password.chmod(0o600)
    options = ("--replicas", "1", "--digest", "mac", "--password-file", str(password))
    ledger_id = run("ledger", "write", *options, stdin=b"hidden").decode().strip()
    assert run("ledger", "read", ledger_id, "--password-file", str(password)) == b"hidden"
    assert run("ledger", "read", ledger_id, BKTX_PASSWORD="secret") == b"hidden"
    assert "password" in refused("ledger", "read", ledger_id)
    assert "secret" not in run("ledger", "show", ledger_id).decode()


@pytest.mark.full
def test_bookies_say_how_much_disk_they_have(cluster, run):
    shown = [json.loads(line) for line in run("bookie", "info", "--json").splitlines()]
    assert sorted(each["bookie_id"] for each in shown) == sorted(cluster.bookie_ids)
    assert all(0 < each["free_bytes"] <= each["total_bytes"] for each in shown)
    assert run("bookie", "info", cluster.bookie_ids[0]).decode().endswith(" bytes free\n")
    nobody = bktx("bookie", "info", "127.0.0.1:1", "--metadata", cluster.metadata_uri)
    assert (nobody.returncode, nobody.stderr) == (1, b"")
    assert nobody.stdout.startswith(b"disk space of bookie 127.0.0.1:1: ")


@pytest.mark.full
def test_a_scoped_ledger_is_written_read_and_taken_apart(run):
    name = run("ledger", "write", "--random-id", "--replicas", "2", stdin=LINES).decode().strip()
    assert run("ledger", "read", name) == run("ledger", "read", name, "--single") == LINES
    assert name in run("ledger", "list", "--all-scopes").decode().split()
    assert run("ledger", "tail", name, "--first", "5") == LINES.splitlines(keepends=True)[-1]
    shown = [json.loads(line) for line in run("ledger", "entries", name, "--json").splitlines()]
    assert [(each["entries"], each["missing"]) for each in shown] == [([[0, 5]], [])] * 2


@pytest.mark.full
def test_ledgers_of_another_scope_are_named_and_listed_by_scope(run, refused):
    name = run("ledger", "create", "--close", "--replicas", "1", "--ledger-scope-id", "-3", "--ledger-id", "7").decode()
    name = name.strip()
    assert name == "fffffffffffffffd0000000000000007"
    shown = json.loads(run("ledger", "show", "--json", name))
    assert (shown["ledger_id"], shown["ledger_scope_id"], shown["ledger_qualified_name"]) == (7, -3, name)
    assert shown["state"] == "CLOSED"
    assert run("ledger", "show", "7", "--ledger-scope-id", "-3").decode().split()[:8] == [
        *("ledger", "7", "ledger", "scope", "-3", "ledger", "qualified", "name")
    ]
    assert name not in run("ledger", "list").decode()
    assert name in run("ledger", "list", "--ledger-scope-id", "-3").decode().split()
    assert name in refused("ledger", "create", "--ledger-qualified-name", name, "--replicas", "1")
    run("ledger", "delete", "--yes", "7", "--ledger-scope-id", "-3")
    assert name in refused("ledger", "show", name)


@pytest.mark.full
def test_protocol_v2_is_refused_a_scoped_ledger(run, refused):
    assert "V3" in refused("ledger", "create", "--random-id", "--replicas", "1", "--protocol", "v2")


@pytest.mark.full
def test_ledgers_are_listed_and_deleted(run, refused):
    ledger_id = run("ledger", "write", "--replicas", "1", stdin=b"gone soon").decode().strip()
    listed = {json.loads(line)["ledger_id"] for line in run("ledger", "list", "--json").splitlines()}
    assert int(ledger_id) in listed
    assert ledger_id in run("ledger", "list").decode().split()
    run("ledger", "delete", ledger_id, "--yes")
    assert ledger_id in refused("ledger", "show", ledger_id)


@pytest.mark.full
def test_deleting_asks(run, cluster):
    ledger_id = run("ledger", "write", "--replicas", "1", stdin=b"stays").decode().strip()
    done = bktx("ledger", "delete", ledger_id, "--metadata", cluster.metadata_uri, stdin=b"n\n")
    assert done.returncode == 1
    assert done.stderr.endswith(b"nothing is deleted\n")
    assert run("ledger", "read", ledger_id) == b"stays"


def test_user_errors_are_one_line(run, refused):
    assert "987654321" in refused("ledger", "read", "987654321")
    assert "bookies" in refused("ledger", "create", "--replicas", "9")
    assert "scheme" in refused("ledger", "list", "--metadata", "nonsense")
    assert "--first 7" in refused("ledger", "read", run_one_line(run), "--first", "7", "--last", "6")


def run_one_line(run):
    """Write a ledger of one line; return its id."""
    return run("ledger", "write", "--replicas", "1", stdin=b"one").decode().strip()

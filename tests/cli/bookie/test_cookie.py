"""``bktx bookie cookie``: the part that needs no metadata store."""

from pathlib import Path

from bookkeeper_tx.bookie.cookie import Cookie
from tests.cli.bookie.bookie_files import objects, run


def test_a_cookie_is_made_of_id_directories_and_cluster(tmp_path: Path) -> None:
    arguments = ["b:1", "--data", "/l", "--journal-dir", "/j", "--instance-id", "an-id"]
    result = run("cookie", "generate", *arguments)
    assert result.stdout_bytes == Cookie.of("b:1", "/j", "/l", "an-id").encode()
    assert run("cookie", "generate", *arguments, "--output", tmp_path / "cookie").exit_code == 0
    assert (tmp_path / "cookie").read_bytes() == result.stdout_bytes


def test_its_fields_are_told(tmp_path: Path) -> None:
    arguments = ["b:1", "--data", "/l1,/l2", "--journal-dir", "/j", "--instance-id", "an-id"]
    expected = {
        "bookie_id": "b:1",
        "journal_directories": ["/j"],
        "ledger_directories": ["/l1", "/l2"],
        "index_directories": [],
        "instance_id": "an-id",
        "layout_version": 5,
    }
    assert objects("cookie", "generate", *arguments) == [expected]
    assert objects("cookie", "generate", *arguments, "--output", tmp_path / "cookie") == [expected]
    made = Cookie.of_directories("b:1", ["/j"], ["/l1", "/l2"], [], "an-id")
    assert (tmp_path / "cookie").read_bytes() == made.encode()


def test_the_directories_may_come_from_a_file(tmp_path: Path) -> None:
    config = tmp_path / "bk_server.conf"
    config.write_text("ledgerDirectories=/l1,/l2\njournalDirectories=/j\nindexDirectories=/i\n")
    made = Cookie.of_directories("b:1", ["/j"], ["/l1", "/l2"], ["/i"], None)
    assert run("cookie", "generate", "b:1", "--config", config).stdout_bytes == made.encode()


def test_a_deletion_is_asked_for() -> None:
    result = run("cookie", "delete", "b:1", "--metadata", "sqlite:////nowhere", stdin="n\n")
    assert result.exit_code == 1
    assert "nothing is deleted" in result.stderr

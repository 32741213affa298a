"""``bktx bookie regenerate-index``, without a metadata store."""

from pathlib import Path

from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.storage.ledger_index import LedgerIndexes
from bookkeeper_tx.entry.digest import master_key
from tests.cli.bookie.bookie_files import files_of, make, objects, run


def test_some_ledgers_with_their_password(tmp_path: Path) -> None:
    for path in make(tmp_path).rglob("*.idx"):
        path.unlink()
    (tmp_path / "password").write_bytes(b"golden\n")
    password = tmp_path / "password"
    found = objects("regenerate-index", "--data", tmp_path, 5, 0, "--password-file", password)
    assert [(each["ledger_id"], each["entries_found"], each["fenced"]) for each in found] == [
        (0, 8, True),
        (5, 8, True),
    ]
    header = LedgerIndexes(Disk(), str(tmp_path / "current"), 1).read_header(5)
    assert header is not None
    assert header.master_key == master_key(b"golden")
    assert not list((tmp_path / "current" / "23").rglob("*.idx"))


def test_the_empty_password_must_be_said(tmp_path: Path) -> None:
    (make(tmp_path) / "current" / "0" / "5" / "5.idx").unlink()
    result = run("regenerate-index", "--data", tmp_path, 5)
    assert result.exit_code == 1
    assert "its key is not known" in result.stderr
    result = run("regenerate-index", "--data", tmp_path, 5, "--no-password")
    assert result.stdout == "ledger 5: 8 entries in the logs, fenced\n"


def test_an_index_that_is_good_keeps_its_header(tmp_path: Path) -> None:
    before = files_of(make(tmp_path))
    assert run("regenerate-index", "--data", tmp_path, 5, 0x12345, "--no-password").exit_code == 0
    assert files_of(tmp_path) == {**before, "bookie.lock": b""}


def test_a_ledger_that_is_not_here(tmp_path: Path) -> None:
    make(tmp_path)
    result = run("regenerate-index", "--data", tmp_path, 99)
    assert result.exit_code == 1
    assert "ledger 99 has no index and no entry here" in result.stderr

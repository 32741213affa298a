"""``bktx bookie listfilesondisc``."""

from pathlib import Path

import pytest

from bookkeeper_tx.bookie.disk import Disk
from tests.bookie.storage.test_conversion import fill
from tests.cli.bookie.bookie_files import make, objects, run


def test_all_files_by_kind(tmp_path: Path) -> None:
    current = make(tmp_path) / "current"
    (current / "other").write_bytes(b"")
    found = objects("listfilesondisc", "--data", tmp_path)
    assert [(each["kind"], Path(each["path"]).name) for each in found] == [
        ("journal", "3b9aca01.txn"),
        ("journal", "3b9aca02.txn"),
        ("entrylog", "0.log"),
        ("entrylog", "1.log"),
        ("index", "0.idx"),
        ("index", "5.idx"),
        ("index", "12345.idx"),
    ]
    assert all(each["size"] == Path(each["path"]).stat().st_size for each in found)


def test_some_kinds(tmp_path: Path) -> None:
    make(tmp_path)
    found = objects("listfilesondisc", "--data", tmp_path, "--index", "--entrylog")
    assert {each["kind"] for each in found} == {"index", "entrylog"}
    assert str(tmp_path / "current" / "1.log") in run("listfilesondisc", "--data", tmp_path, "--entrylog").stdout


def test_the_index_in_databases_is_their_files(tmp_path: Path) -> None:
    pytest.importorskip("rocksdict")
    current = tmp_path / "current"
    current.mkdir()
    fill(Disk(), str(current), "DbLedgerStorage")
    found = {each["path"] for each in objects("listfilesondisc", "--data", tmp_path, "--index")}
    databases = [current / name for name in ("ledgers", "locations", "scopedLedgers", "scopedLocations")]
    assert found == {str(path) for each in databases for path in each.iterdir()}
    assert {Path(each).parent for each in found} == set(databases)

"""``bktx bookie convert``."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bookkeeper_tx.bookie.directories import LOCK_NAME, DirectoryInUse
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.cli.bookie.convert import convert
from bookkeeper_tx.errors import InvalidArgument
from tests.bookie.storage.test_conversion import check, fill

pytest.importorskip("rocksdict")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "current").mkdir()
    fill(Disk(), str(tmp_path / "current"), "SortedLedgerStorage")
    return tmp_path


def test_both_ways(data: Path) -> None:
    result = CliRunner().invoke(convert, ["--data", str(data), "--to", "DbLedgerStorage", "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"class": "DbLedgerStorage", "ledgers": 6, "entries_copied": 5655}
    check(Disk(), str(data / "current"), "DbLedgerStorage")
    result = CliRunner().invoke(convert, ["--data", str(data), "--to", "SortedLedgerStorage"])
    assert "6 ledgers are in SortedLedgerStorage now; set ledgerStorageClass to it" in result.stdout
    check(Disk(), str(data / "current"), "SortedLedgerStorage")


def test_the_files_of_a_running_bookie_are_left_alone(data: Path) -> None:
    lock = Disk().lock(str(data / LOCK_NAME))
    result = CliRunner().invoke(convert, ["--data", str(data), "--to", "DbLedgerStorage"])
    assert isinstance(result.exception, DirectoryInUse)
    assert "stop it first" in str(result.exception)
    lock.close()
    check(Disk(), str(data / "current"), "SortedLedgerStorage")


def test_several_directories_are_refused(data: Path) -> None:
    result = CliRunner().invoke(convert, ["--data", str(data), "--data", str(data / "2"), "--to", "DbLedgerStorage"])
    assert isinstance(result.exception, InvalidArgument)
    assert "in one directory" in str(result.exception)

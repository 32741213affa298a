"""``bktx bookie convert``."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bookkeeper_tx.bookie.cookie import Cookie
from bookkeeper_tx.bookie.directories import LOCK_NAME, DirectoryInUse
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.cli.bookie.convert import convert
from bookkeeper_tx.errors import InvalidArgument
from tests.bookie.storage.several import test_conversion as several
from tests.bookie.storage.several.several_storages import made_currents
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


def test_several_directories_are_converted_in_the_order_of_their_cookie(tmp_path: Path) -> None:
    directories = tmp_path / "a", tmp_path / "b"
    currents = made_currents(*directories)
    several.fill(Disk(), "SortedLedgerStorage", currents)
    journal = tmp_path / "j"
    (journal / "current").mkdir(parents=True)
    cookie = Cookie.of_directories("b:1", [str(journal)], list(map(str, directories)), [], "an-id").encode()
    for current in currents:
        Path(current, "VERSION").write_bytes(cookie)
    for order in (directories[::-1], directories):
        data = ["--journal-dir", str(journal), "--data", ",".join(map(str, order))]
        result = CliRunner().invoke(convert, [*data, "--to", "DbLedgerStorage"])
        if order != directories:
            assert isinstance(result.exception, InvalidArgument)
            assert f"in the order of the cookie {currents[1]}/VERSION" in str(result.exception)
    assert result.exit_code == 0, result.output
    several.check(Disk(), "DbLedgerStorage", currents)


def test_indexes_elsewhere_are_converted_there(tmp_path: Path) -> None:
    currents = [made_currents(tmp_path / f"{kind}1", tmp_path / f"{kind}2") for kind in "di"]
    several.fill(Disk(), "SortedLedgerStorage", *currents)
    options = ["--data", f"{tmp_path}/d1,{tmp_path}/d2", "--index-dir", f"{tmp_path}/i1,{tmp_path}/i2"]
    for to, suffix in (("DbLedgerStorage", ".sst"), ("SortedLedgerStorage", ".idx")):
        # An index file is in one of the directories by chance.
        expected_in = ((("d1", "d2"), set[str]()), (("i1", "i2"), {suffix}))
        result = CliRunner().invoke(convert, [*options, "--to", to])
        assert result.exit_code == 0, result.output
        several.check(Disk(), to, *currents)
        for places, expected in expected_in:
            found = {path.suffix for place in places for path in (tmp_path / place).rglob("*")}
            assert found & {".idx", ".sst"} == expected


def test_index_directories_that_the_cookie_knows_have_to_be_named(data: Path) -> None:
    cookie = Cookie.of_directories("b:1", [str(data)], [str(data)], [str(data / "x")], "an-id").encode()
    (data / "x" / "current").mkdir(parents=True)
    for place in (data, data / "x"):
        (place / "current" / "VERSION").write_bytes(cookie)
    result = CliRunner().invoke(convert, ["--data", str(data), "--to", "DbLedgerStorage"])
    assert isinstance(result.exception, InvalidArgument)
    assert f"with index directories, {data}/x: name them, with --index-dir" in str(result.exception)


def test_each_ledger_directory_has_to_have_one_of_indexes(data: Path) -> None:
    (data / "x" / "current").mkdir(parents=True)
    options = ["--data", str(data), "--index-dir", f"{data}/x,{data}", "--to", "DbLedgerStorage"]
    result = CliRunner().invoke(convert, options)
    assert isinstance(result.exception, InvalidArgument)
    assert "an index directory for each ledger directory: 1 and 2 are given" in str(result.exception)


def test_entries_go_home_to_logs_of_the_configured_size(tmp_path: Path) -> None:
    directories = tmp_path / "a", tmp_path / "b"
    currents = made_currents(*directories)
    several.fill(Disk(), "SortedLedgerStorage", currents)
    config = tmp_path / "bk_server.conf"
    config.write_text(f"ledgerDirectories={directories[0]},{directories[1]}\nlogSizeLimit=5000\n")
    result = CliRunner().invoke(convert, ["--config", str(config), "--to", "DbLedgerStorage"])
    assert result.exit_code == 0, result.output
    assert max(path.stat().st_size for path in tmp_path.rglob("*.log")) < 6000
    several.check(Disk(), "DbLedgerStorage", currents)

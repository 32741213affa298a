"""``bktx bookie rebuild-index``, without a metadata store."""

from pathlib import Path

import pytest

from bookkeeper_tx.bookie.directories import DirectoryInUse, unused
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.storage.conversion import DATABASES
from bookkeeper_tx.errors import InvalidArgument
from tests.bookie.storage.several import test_conversion as several
from tests.bookie.storage.several.several_storages import made_currents
from tests.cli.bookie.bookie_files import LEDGERS, files_of, make, objects, run


def test_every_ledger_is_told(tmp_path: Path) -> None:
    before = files_of(make(tmp_path))
    found = objects("rebuild-index", "--data", tmp_path)
    assert [(each["ledger_id"], each["entries_found"], each["fenced"]) for each in found] == [
        (ledger_id, 8, False) for ledger_id in LEDGERS
    ]
    result = run("rebuild-index", "--data", tmp_path)
    assert result.stderr == "the indexes of 3 ledgers were made anew, from 24 entries in 2 logs\n"
    assert files_of(tmp_path) == {**before, "bookie.lock": b""}


def test_a_ledger_without_a_key_is_a_problem(tmp_path: Path) -> None:
    (make(tmp_path) / "current" / "0" / "5" / "5.idx").unlink()
    result = run("rebuild-index", "--data", tmp_path)
    assert result.exit_code == 1
    assert "ledger 5: its 8 entries have no index, for its key is not known: give --metadata URI" in result.stderr
    assert "the indexes of 2 ledgers were made anew" in result.stderr


def test_damage_is_a_line_and_the_rest_is_done(tmp_path: Path) -> None:
    path = make(tmp_path) / "current" / "1.log"
    path.write_bytes(path.read_bytes()[:-1])
    result = run("rebuild-index", "--data", tmp_path)
    assert result.exit_code == 1
    assert f"problem: {path}: offset 1471: a record of 64 bytes is cut off" in result.stderr
    assert "the indexes of 3 ledgers were made anew, from 23 entries" in result.stderr


def test_a_dry_run_leaves_everything(tmp_path: Path) -> None:
    before = files_of(make(tmp_path))
    result = run("rebuild-index", "--data", tmp_path, "--dry-run")
    assert result.stderr == "the indexes of 3 ledgers would be made anew, from 24 entries in 2 logs\n"
    assert files_of(tmp_path) == before


def test_the_files_of_a_running_bookie_are_left_alone(tmp_path: Path) -> None:
    make(tmp_path)
    with unused(Disk(), [str(tmp_path)], writing=True):
        assert isinstance(run("rebuild-index", "--data", tmp_path).exception, DirectoryInUse)


def test_two_commands_that_only_read_may_be_there_together(tmp_path: Path) -> None:
    make(tmp_path)
    with unused(Disk(), [str(tmp_path)], writing=True):
        pass
    with unused(Disk(), [str(tmp_path)]):
        assert run("consistency", "--data", tmp_path).exit_code == 0
        result = run("rebuild-index", "--data", tmp_path)
        assert "or another command on its files, is running" in str(result.exception)


@pytest.mark.parametrize("apart", [False, True])
def test_of_lost_databases_in_several_directories_all_is_made_anew(tmp_path: Path, apart: bool) -> None:
    pytest.importorskip("rocksdict")
    data = tmp_path / "a", tmp_path / "b"
    indexes = (tmp_path / "x", tmp_path / "y") if apart else data
    currents, index_currents = made_currents(*data), made_currents(*indexes)
    several.fill(Disk(), "DbLedgerStorage", currents, index_currents)
    for at, current in enumerate(index_currents):
        for database in filter(Path.exists, map(Path(current).joinpath, DATABASES)):
            database.rename(tmp_path / f"{at}-{database.name}")
    places = ["--data", ",".join(map(str, data)), "--index-dir", ",".join(map(str, indexes))]
    clash = run("rebuild-index", *places).exception
    assert "give --renumber" in str(clash)
    assert run("rebuild-index", *places, "--renumber", "--dry-run").exit_code == 2
    found = run("rebuild-index", *places, "--renumber")
    assert "problem: ledger 5: its 30 entries have no index, for its key is not known" in found.stderr
    ids = [str(each) for each in (0, 5, 0x12345, 6)]
    assert run("regenerate-index", *places, *ids, "--no-password").exit_code == 0
    assert run("convert", *places, "--to", "DbLedgerStorage").exit_code == 0
    checked = objects("consistency", *places)
    assert checked == [{"ledgers": 4, "entries": 120, "faults": 0}]


def test_logs_that_index_files_know_keep_their_ids(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make(tmp_path / name)
    before = files_of(tmp_path)
    result = run("rebuild-index", "--data", f"{tmp_path}/a,{tmp_path}/b", "--renumber")
    assert "there are index files already" in str(result.exception)
    locks = {f"{name}/bookie.lock": b"" for name in "ab"}
    assert {**files_of(tmp_path), **locks} == {**before, **locks}


def test_the_databases_of_another_class_of_storage_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "current" / "locations").mkdir(parents=True)
    for command in (["rebuild-index"], ["regenerate-index", 5]):
        error = run(*command, "--data", tmp_path).exception
        assert isinstance(error, InvalidArgument)
        assert "locations is a database of DbLedgerStorage" in str(error)

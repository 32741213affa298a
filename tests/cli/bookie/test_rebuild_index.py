"""``bktx bookie rebuild-index``, without a metadata store."""

from pathlib import Path

from bookkeeper_tx.bookie.directories import DirectoryInUse, unused
from bookkeeper_tx.bookie.disk import Disk
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

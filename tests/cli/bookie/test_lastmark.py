"""``bktx bookie lastmark``."""

from pathlib import Path

import pytest
from click.testing import Result

from bookkeeper_tx.bookie.directories import DirectoryInUse, unused
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.bookie.journal.last_mark import LogMark, write_last_mark
from bookkeeper_tx.errors import InvalidArgument, InvalidConfig
from tests.cli.bookie.bookie_files import files_of, make, objects, run


def test_the_mark_names_file_and_offset(tmp_path: Path) -> None:
    make(tmp_path)
    (found,) = objects("lastmark", "--data", tmp_path)
    assert found["file"] == str(tmp_path / "current" / "3b9aca02.txn")
    assert (found["journal_id"], found["offset"]) == (0x3B9ACA02, 1536)
    text = run("lastmark", "--data", tmp_path).stdout
    assert "offset 1536 of" in text
    assert "bytes of journal files lie behind it" in text


def test_a_marked_file_that_is_missing_is_told(tmp_path: Path) -> None:
    (make(tmp_path) / "current" / "3b9aca02.txn").unlink()
    assert objects("lastmark", "--data", tmp_path, exit_code=1)[0]["missing"]
    result = run("lastmark", "--data", tmp_path)
    assert "3b9aca02.txn, which is missing; 0 bytes" in result.stdout
    assert "3b9aca02.txn is missing: the mark is in it" in result.stderr
    for command in (["journal", "--behind-mark"], ["ledger", "5"]):
        result = run(*command, "--data", tmp_path)
        assert result.exit_code == 1
        assert "3b9aca02.txn is missing: the mark is in it" in result.output


@pytest.mark.parametrize("data", [b"", b"\0" * 15])
def test_a_mark_that_is_cut_short_is_told(tmp_path: Path, data: bytes) -> None:
    path = make(tmp_path) / "current" / "lastMark"
    path.write_bytes(data)
    result = run("lastmark", "--data", tmp_path)
    assert result.exit_code == 1
    assert "the beginning" in result.stdout
    assert result.stderr == f"problem: {path} has {len(data)} bytes, and a mark has 16: it counts as none\n"


def test_a_mark_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = make(tmp_path) / "current" / "lastMark"
    path.unlink()
    path.mkdir()
    result = run("lastmark", "--data", tmp_path)
    assert result.exit_code == 1
    assert f"problem: cannot read {path}: [Errno 21] Is a directory\n" == result.stderr


def test_a_bookie_without_a_mark_begins_at_the_beginning(tmp_path: Path) -> None:
    (tmp_path / "current").mkdir()
    assert "the beginning" in run("lastmark", "--data", tmp_path).stdout


def test_of_several_ledger_directories_the_greatest_counts(tmp_path: Path) -> None:
    for name, offset in (("a", 512), ("b", 1024), ("j", 0)):
        (tmp_path / name / "current").mkdir(parents=True)
        write_last_mark(Disk(), [str(tmp_path / name / "current")], LogMark(7, offset))
    (tmp_path / "j" / "current" / "7.txn").touch()
    config = tmp_path / "bk_server.conf"
    config.write_text(f"ledgerDirectories={tmp_path}/a,{tmp_path}/b\njournalDirectories={tmp_path}/j\n")
    (found,) = objects("lastmark", "--config", config)
    assert (found["journal_directory"], found["offset"]) == (str(tmp_path / "j"), 1024)


@pytest.mark.parametrize("option", ["--data", "--journal-dir", "--index-dir", "ledgerDirectories"])
def test_spaces_around_a_directory_are_not_its_name_and_an_empty_name_is_refused(tmp_path: Path, option: str) -> None:
    make(tmp_path)
    config = tmp_path / "bk_server.conf"

    def tried(value: str) -> Result:
        config.write_text(f"ledgerDirectories={value if option == 'ledgerDirectories' else tmp_path}")
        given = [option, value] if option.startswith("--") else []
        return run("lastmark", "--config", config, *given)

    assert tried(f" {tmp_path} ").exit_code == 0
    result = tried(f"{tmp_path},")
    assert isinstance(result.exception, InvalidConfig)
    assert f"{option}" in str(result.exception)
    assert "a name is missing before or after a comma" in str(result.exception)


def test_each_of_several_journals_has_a_mark(tmp_path: Path) -> None:
    for name in ("l", "j0", "j1"):
        (tmp_path / name / "current").mkdir(parents=True)
    for number, source in enumerate((LogMark(3, 600), LogMark(4, 700))):
        write_last_mark(Disk(), [str(tmp_path / "l" / "current")], source)
        (tmp_path / "l" / "current" / "lastMark").rename(tmp_path / "l" / "current" / f"lastMark.{number}")
        (tmp_path / f"j{number}" / "current" / f"{source.journal_id}.txn").touch()
    found = objects(
        "lastmark", "--data", tmp_path / "l", "--journal-dir", tmp_path / "j0", "--journal-dir", tmp_path / "j1"
    )
    assert [(each["journal_id"], each["offset"]) for each in found] == [(3, 600), (4, 700)]


def test_the_files_of_a_running_bookie_are_refused(tmp_path: Path) -> None:
    make(tmp_path)
    with unused(Disk(), [str(tmp_path)], writing=True):
        result = run("lastmark", "--data", tmp_path)
    assert isinstance(result.exception, DirectoryInUse)
    assert "stop it first" in str(result.exception)


def test_nothing_is_written(tmp_path: Path) -> None:
    before = files_of(make(tmp_path))
    run("lastmark", "--data", tmp_path)
    assert files_of(tmp_path) == before


@pytest.mark.parametrize("exists", [True, False])
def test_another_directory_is_refused(tmp_path: Path, exists: bool) -> None:
    result = run("lastmark", "--data", tmp_path if exists else tmp_path / "none")
    assert isinstance(result.exception, InvalidArgument)
    assert "is not the directory of a bookie" in str(result.exception)


def test_it_must_be_said_where_the_files_are(tmp_path: Path) -> None:
    assert "--data DIR" in run("lastmark").stderr
    (tmp_path / "conf").write_text("bookiePort=1\n")
    result = run("lastmark", "--config", tmp_path / "conf")
    assert isinstance(result.exception, InvalidConfig)
    assert "ledgerDirectories" in str(result.exception)

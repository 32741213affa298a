"""``bktx bookie format``, without a metadata store."""

from pathlib import Path

import pytest

from bookkeeper_tx.bookie.directories import DirectoryInUse, unused
from bookkeeper_tx.bookie.disk import Disk
from bookkeeper_tx.errors import InvalidArgument
from tests.cli.bookie.bookie_files import files_of, make, objects, run


def test_everything_in_the_directories_goes_and_nothing_beside_them(tmp_path: Path) -> None:
    data, journal = tmp_path / "data", tmp_path / "journal"
    make(data)
    (journal / "current").mkdir(parents=True)
    (journal / "current" / "1.txn").write_bytes(b"x")
    (data / "current" / "locations").mkdir()
    (data / "current" / "locations" / "CURRENT").write_bytes(b"x")
    (data / "beside").write_bytes(b"x")
    (tmp_path / "elsewhere").write_bytes(b"x")
    (data / "current" / "link").symlink_to(tmp_path / "elsewhere")
    result = run("format", "--data", data, "--journal-dir", journal, "--force")
    assert result.exit_code == 0
    assert "deleted 12 files" in result.stderr
    assert files_of(tmp_path) == {
        "data/beside": b"x",
        "data/bookie.lock": b"",
        "journal/bookie.lock": b"",
        "elsewhere": b"x",
    }
    assert (data / "current").is_dir()


def test_it_asks(tmp_path: Path) -> None:
    before = files_of(make(tmp_path))
    result = run("format", "--data", tmp_path, stdin="n\n")
    assert result.exit_code == 1
    assert "delete 9 files" in result.stderr
    assert {**before, "bookie.lock": b""} == files_of(tmp_path)
    assert run("format", "--data", tmp_path, stdin="y\n").exit_code == 0
    assert list((tmp_path / "current").iterdir()) == []


def test_what_was_deleted_is_told(tmp_path: Path) -> None:
    before = files_of(make(tmp_path / "data"))
    assert objects("format", "--data", tmp_path / "data", "--force") == [
        {
            "files": len(before),
            "size": sum(map(len, before.values())),
            "directories": [str(tmp_path / "data")],
            "cookie_deleted": False,
        }
    ]
    assert files_of(tmp_path / "data") == {"bookie.lock": b""}


def test_the_files_of_a_running_bookie_are_left_alone(tmp_path: Path) -> None:
    before = files_of(make(tmp_path))
    with unused(Disk(), [str(tmp_path)], writing=True):
        assert isinstance(run("format", "--data", tmp_path, "--force").exception, DirectoryInUse)
    assert {**before, "bookie.lock": b""} == files_of(tmp_path)


def test_a_wipe_that_fails_leaves_no_cookie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    current = make(tmp_path) / "current"
    (current / "VERSION").write_bytes(b"5\n")

    def remove(disk: Disk, path: str) -> None:
        assert path.endswith("VERSION"), "the cookie goes first"
        Path(path).unlink()
        monkeypatch.setattr(Disk, "remove", failing)

    def failing(disk: Disk, path: str) -> None:
        raise OSError(5, "Input/output error", path)

    monkeypatch.setattr(Disk, "remove", remove)
    assert isinstance(run("format", "--data", tmp_path, "--force").exception, OSError)
    assert not (current / "VERSION").exists()


def test_the_cookie_in_the_store_needs_the_store_and_an_id(tmp_path: Path) -> None:
    make(tmp_path)
    assert "--metadata URI" in run("format", "--data", tmp_path, "--delete-cookie", "--force").stderr
    result = run("format", "--data", tmp_path, "--delete-cookie", "--force", "--metadata", "sqlite:////nowhere")
    assert isinstance(result.exception, InvalidArgument)
    assert "name the bookie by its id" in str(result.exception)

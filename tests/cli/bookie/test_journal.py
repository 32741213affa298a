"""``bktx bookie journal``."""

from pathlib import Path

import pytest

from bookkeeper_tx.errors import InvalidArgument
from tests.cli.bookie.bookie_files import LEDGERS, make, objects, run


def test_every_record_is_shown(tmp_path: Path) -> None:
    make(tmp_path)
    found = objects("journal", "--data", tmp_path)
    entries = [(each["ledger_id"], each["entry_id"]) for each in found if each["kind"] == "entry"]
    assert sorted(entries) == [(ledger_id, entry_id) for ledger_id in LEDGERS for entry_id in range(10)]
    assert {each["kind"] for each in found} == {"entry", "ledger key", "fence", "explicit last add confirmed"}


def test_what_a_start_would_replay(tmp_path: Path) -> None:
    make(tmp_path)
    found = objects("journal", "--data", tmp_path, "--behind-mark")
    assert {each["offset"] for each in found if each["kind"] == "entry"} == {1536, 1597, 2048, 2109, 2560, 2625}


def test_one_file_and_one_ledger(tmp_path: Path) -> None:
    make(tmp_path)
    found = objects("journal", "--data", tmp_path, "3b9aca02", "--ledger-id", 5, "--msg")
    assert [each["kind"] for each in found] == ["entry", "entry", "fence"]
    assert bytes.fromhex(found[0]["bytes"]).endswith(b"entry 8 of ledger 5..")
    path = tmp_path / "current" / "3b9aca02.txn"
    assert objects("journal", "--data", tmp_path, path, "--ledger-id", 5, "--msg") == found


def test_damage_is_a_line_that_says_where(tmp_path: Path) -> None:
    path = make(tmp_path) / "current" / "3b9aca01.txn"
    data = bytearray(path.read_bytes())
    data[1100] ^= 1
    path.write_bytes(data)
    result = run("journal", "--data", tmp_path)
    assert result.exit_code == 1
    assert "problem at offset 1024: the 9 records from here to offset 1547 do not fit their seal" in result.stdout
    assert "3b9aca02.txn: version 6" in result.stdout


def test_a_file_that_is_none_does_not_end_the_others(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "current" / "1.txn").write_bytes(b"BKLG\0\0\0\x63".ljust(512, b"\0"))
    result = run("journal", "--data", tmp_path)
    assert result.exit_code == 1
    assert "1.txn is of version 99" in result.stderr
    assert "fence of ledger 5" in result.stdout


@pytest.mark.parametrize("name", ["zz", "77"])
def test_a_journal_that_is_not_there(tmp_path: Path, name: str) -> None:
    make(tmp_path)
    assert isinstance(run("journal", "--data", tmp_path, name).exception, InvalidArgument)


def test_an_id_that_two_journals_have_shows_both_files(tmp_path: Path) -> None:
    name = "3b9aca02.txn"
    for number, each in enumerate(("j0", "j1")):
        current = make(tmp_path / each) / "current"
        (current / "lastMark").rename(current / f"lastMark.{number}")
    (tmp_path / "j0" / "current" / "lastMark.1").write_bytes((tmp_path / "j1" / "current" / "lastMark.1").read_bytes())
    found = objects("journal", "--data", tmp_path / "j0", "--journal-dir", f"{tmp_path}/j0,{tmp_path}/j1", name)
    assert {each["path"] for each in found} == {str(tmp_path / each / "current" / name) for each in ("j0", "j1")}


@pytest.mark.parametrize("content", [b"BKLG\0\0\0\x63".ljust(512, b"\0"), None])
def test_a_file_that_cannot_be_read_is_one_line_and_the_others_are_shown(tmp_path: Path, content: bytes | None) -> None:
    path = make(tmp_path) / "current" / "3b9aca02.txn"
    path.rename(path.with_name("3b9aca03.txn"))
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    result = run("journal", "--data", tmp_path)
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert str(path) in line
    assert "fence of ledger 5" in result.stdout
    found = objects("ledger", 5, "--data", tmp_path, exit_code=1)
    assert [str(path) in each["fault"] for each in found if "fault" in each] == [True]
    assert len([each for each in found if "entry_id" in each]) == 10

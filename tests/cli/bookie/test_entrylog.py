"""``bktx bookie entrylog``."""

from pathlib import Path

import pytest

from bookkeeper_tx.cli.bookie.record_lines import RecordLines
from bookkeeper_tx.errors import InvalidArgument
from tests.cli.bookie.bookie_files import LEDGERS, files_of, make, objects, run


def test_all_records_of_all_logs(tmp_path: Path) -> None:
    before = files_of(make(tmp_path))
    found = objects("entrylog", "--data", tmp_path)
    entries = [(each["ledger_id"], each["entry_id"]) for each in found if each["kind"] == "entry"]
    assert entries == [(ledger_id, entry_id) for ledger_id in LEDGERS for entry_id in range(8)]
    assert files_of(tmp_path) == before


def test_one_log_ledger_and_entry(tmp_path: Path) -> None:
    make(tmp_path)
    (found,) = objects("entrylog", "--data", tmp_path, "0", "--ledger-id", 5, "--entry-id", 3, "--msg")
    assert bytes.fromhex(found["bytes"]).endswith(b"entry 3 of ledger 5")
    path = tmp_path / "current" / "0.log"
    at = found["offset"]
    assert objects("entrylog", "--data", tmp_path, path, "--from-offset", at, "--to-offset", at + 1, "--msg") == [found]
    text = run("entrylog", "--data", tmp_path, "0.log", "--ledger-id", 5, "--entry-id", 3, "--msg").stdout
    assert f"offset {at}: entry 3 of ledger 5, {found['size']} bytes, last add confirmed 2" in text


def test_headers(tmp_path: Path) -> None:
    make(tmp_path)
    full, last = objects("entrylog", "--data", tmp_path, "--header")
    assert (full["version"], full["ledgers_map_count"]) == (1, 2)
    assert last["ledgers_map_offset"] == 0
    assert "a map of 2 ledgers" in run("entrylog", "--data", tmp_path, "--header").stdout


def test_ledgers_by_the_map_or_by_the_records(tmp_path: Path) -> None:
    make(tmp_path)
    found = objects("entrylog", "--data", tmp_path, "--ledgers")
    assert [(each["ledger_id"], each["size"]) for each in found] == [(0, 479), (5, 479), (0x12345, 511)]
    path = tmp_path / "current" / "0.log"
    data = bytearray(path.read_bytes())
    data[1990] ^= 1  # in the map
    path.write_bytes(data)
    result = run("entrylog", "--data", tmp_path, "0", "--ledgers")
    assert result.exit_code == 1
    assert "ledgers map is damaged at offset 1982; its records are read instead" in result.stderr
    assert "ledger 5: 479 bytes" in result.stdout


def test_damage_is_a_line_that_says_where_and_the_next_log_is_read(tmp_path: Path) -> None:
    path = make(tmp_path) / "current" / "0.log"
    data = bytearray(path.read_bytes())
    data[1083] = 0xFF
    path.write_bytes(data)
    (tmp_path / "current" / "2.log").write_bytes(b"")
    (tmp_path / "current" / "3.log").write_bytes(b"BKLX" * 1000)
    result = run("entrylog", "--data", tmp_path)
    assert result.exit_code == 1
    assert "problem at offset 1083: a record cannot have" in result.stdout
    assert "entry 7 of ledger 74565" in result.stdout
    assert "2.log: empty" in result.stdout
    assert "3.log: it starts with b'BKLX'" in result.stderr


@pytest.mark.parametrize("name", ["zz", "77"])
def test_a_log_that_is_not_there(tmp_path: Path, name: str) -> None:
    make(tmp_path)
    assert isinstance(run("entrylog", "--data", tmp_path, name).exception, InvalidArgument)


def test_a_closed_pipe_is_no_problem_of_the_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path)

    def closed(self: RecordLines, record: object) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr(RecordLines, "show", closed)
    result = run("entrylog", "--data", tmp_path)
    assert isinstance(result.exception, BrokenPipeError) or result.exit_code == 1
    assert "Broken pipe" not in result.stderr


def test_a_log_that_cannot_be_read_is_one_line_with_its_path(tmp_path: Path) -> None:
    path = make(tmp_path) / "current" / "0.log"
    path.unlink()
    path.mkdir()
    result = run("entrylog", "--data", tmp_path)
    assert result.exit_code == 1
    assert result.stderr == f"error: cannot read {path}: [Errno 21] Is a directory\n"
    assert "1.log: version" in result.stdout

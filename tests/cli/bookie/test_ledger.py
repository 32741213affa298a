"""``bktx bookie ledger``."""

from pathlib import Path

import pytest

from bookkeeper_tx.errors import NoSuchLedger
from tests.cli.bookie.bookie_files import files_of, make, objects, run


def test_entries_of_logs_and_journal_with_their_places(tmp_path: Path) -> None:
    before = files_of(make(tmp_path))
    found = objects("ledger", "--data", tmp_path, 5, "--msg")
    assert [(each["entry_id"], Path(each["file"]).name) for each in found] == [
        *((entry_id, "0.log") for entry_id in range(8)),
        *((entry_id, "3b9aca02.txn") for entry_id in (8, 9)),
    ]
    for each in found:
        path = tmp_path / "current" / Path(each["file"]).name
        data = path.read_bytes()[each["offset"] + 4 : each["offset"] + each["size"]]
        assert data.hex() == each["bytes"]
    assert files_of(tmp_path) == before


def test_some_entries_without_the_journal(tmp_path: Path) -> None:
    make(tmp_path)
    found = objects("ledger", "--data", tmp_path, 5, "--first", 6, "--last", 8, "--no-journal")
    assert [each["entry_id"] for each in found] == [6, 7]
    log = tmp_path / "current" / "0.log"
    assert f"entry 6: {log}, offset" in run("ledger", "--data", tmp_path, 5, "--first", 6).stdout


def test_nothing_there_is_an_error(tmp_path: Path) -> None:
    make(tmp_path)
    for arguments in ([6], [5, "--first", 100]):
        assert isinstance(run("ledger", "--data", tmp_path, *arguments).exception, NoSuchLedger)


def test_an_entry_that_is_elsewhere_is_shown_and_the_others_too(tmp_path: Path) -> None:
    path = make(tmp_path) / "current" / "0.log"
    data = bytearray(path.read_bytes())
    data[1683 + 19] ^= 1  # the id of entry 3
    path.write_bytes(data)
    result = run("ledger", "--data", tmp_path, 5)
    assert result.exit_code == 1
    assert f"entry 3 of ledger 5 is not at offset 1683 of entry log {path}" in result.stdout
    assert all(f"entry {entry_id}: " in result.stdout for entry_id in (0, 1, 2, 4, 5, 6, 7, 8, 9))


@pytest.mark.parametrize("data", [b"JUNK" * 20, b"JUNK" * 256])
def test_an_index_with_a_bad_header_is_one_line(tmp_path: Path, data: bytes) -> None:
    path = make(tmp_path) / "current" / "0" / "5" / "5.idx"
    path.write_bytes(data)
    result = run("ledger", 5, "--data", tmp_path)
    assert result.exit_code == 1
    assert [str(path) in line for line in result.stdout.splitlines()] == [True, False, False]  # two are in the journal
    result = run("rebuild-index", "--data", tmp_path, "--dry-run")
    assert [str(path) in line for line in result.stderr.splitlines()] == [True, False, False]

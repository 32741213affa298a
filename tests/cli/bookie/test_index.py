"""``bktx bookie index``."""

from pathlib import Path

from bookkeeper_tx.errors import NoSuchLedger, StorageFailed
from tests.bookie.golden_directory import DIGEST
from tests.cli.bookie.bookie_files import files_of, make, objects, run


def test_the_header_and_the_entries(tmp_path: Path) -> None:
    before = files_of(make(tmp_path))
    (found,) = objects("index", "--data", tmp_path, 0x12345)
    assert found == {
        "path": str(tmp_path / "current" / "23" / "45" / "12345.idx"),
        "fenced": False,
        "in_limbo": False,
        "explicit_last_add_confirmed": 3,
        "entries": 8,
        "last_entry_id": 7,
    }
    assert objects("index", "--data", tmp_path, 0, "--master-key")[0]["master_key"] == DIGEST.master_key.hex()
    assert "explicit last add confirmed: none" in run("index", "--data", tmp_path, 5).stdout
    assert files_of(tmp_path) == before


def test_every_location(tmp_path: Path) -> None:
    make(tmp_path)
    _, *found = objects("index", "--data", tmp_path, 5, "--locations")
    assert [each["entry_id"] for each in found] == list(range(8))
    records = objects("entrylog", "--data", tmp_path, "0", "--ledger-id", 5)
    assert [each["offset"] for each in found] == [each["offset"] for each in records if each["kind"] == "entry"]
    assert "entry 0: log 0, offset 1503" in run("index", "--data", tmp_path, 5, "--locations").stdout


def test_a_ledger_that_is_not_there(tmp_path: Path) -> None:
    make(tmp_path)
    assert isinstance(run("index", "--data", tmp_path, 6).exception, NoSuchLedger)


def test_a_damaged_header_is_one_error(tmp_path: Path) -> None:
    (make(tmp_path) / "current" / "0" / "5" / "5.idx").write_bytes(b"JUNK" * 1000)
    result = run("index", "--data", tmp_path, 5)
    assert isinstance(result.exception, StorageFailed)
    assert "5.idx is damaged, it has no valid header" in str(result.exception)

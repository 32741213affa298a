"""``bktx bookie consistency``."""

from pathlib import Path

from tests.cli.bookie.bookie_files import files_of, make, objects, run


def test_good_files(tmp_path: Path) -> None:
    before = files_of(make(tmp_path))
    result = run("consistency", "--data", tmp_path)
    assert result.stdout == "3 ledgers, 24 entries, 0 faults\n"
    assert objects("consistency", "--data", tmp_path) == [{"ledgers": 3, "entries": 24, "faults": 0}]
    assert files_of(tmp_path) == before


def test_a_log_that_is_gone_cut_or_damaged(tmp_path: Path) -> None:
    current = make(tmp_path) / "current"
    (current / "1.log").unlink()
    data = bytearray((current / "0.log").read_bytes())
    data[1083 + 7] ^= 1  # ledger 0, entry 1
    (current / "0.log").write_bytes(data[:1950])  # entry 7 of ledger 5
    *faults, counts = objects("consistency", "--data", tmp_path, exit_code=1)
    assert {(each["ledger_id"], each["entry_id"]) for each in faults} == {
        (0, 1),
        (5, 7),
        *((0x12345, entry_id) for entry_id in range(8)),
    }
    assert counts == {"ledgers": 3, "entries": 14, "faults": 10}
    text = run("consistency", "--data", tmp_path).stdout
    assert "entry log 1.log, which is not there" in text
    assert f"entry 7 of ledger 5 is not at offset 1922 of entry log {current / '0.log'}" in text


def test_an_index_without_a_header(tmp_path: Path) -> None:
    path = make(tmp_path) / "current" / "0" / "5" / "5.idx"
    data = path.read_bytes()
    path.write_bytes(b"JUNK" + data[4:])
    fault, counts = objects("consistency", "--data", tmp_path, exit_code=1)
    assert "no valid header" in fault["fault"]
    assert counts["entries"] == 24
    path.write_bytes(data[:500])
    assert "ends within its header" in run("consistency", "--data", tmp_path).stdout

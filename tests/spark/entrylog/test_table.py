"""Reading files as the table does, without Spark."""

import json
from pathlib import Path
from typing import Any

import pytest

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.spark.entrylog import files
from bookkeeper_tx.spark.entrylog.files import LogPart
from bookkeeper_tx.spark.entrylog.table import EntryLogTable, read_part
from bookkeeper_tx.spark.options.option import Use
from bookkeeper_tx.spark.options.options import Options
from tests.entry.entry_logs import log_of, record

RECORDS = [record(5, entry_id, b"x" * 50) for entry_id in range(100)]


def rows_of(**options: str) -> list[dict[str, Any]]:
    table = EntryLogTable(options)
    reader = table.reader(table.schema())
    return [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]


def test_all_logs_of_a_directory_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "PART_SIZE", 1000)
    (tmp_path / "1.log").write_bytes(log_of(RECORDS))
    (tmp_path / "a.log").write_bytes(log_of(RECORDS[:3])[:-1])
    (tmp_path / "b.log").write_bytes(b"")
    (tmp_path / "c.log").write_bytes(b"junk")
    table = EntryLogTable({"path": str(tmp_path)})
    assert len(table.reader(table.schema()).partitions()) > 3
    rows = rows_of(path=str(tmp_path))
    assert [row["entry_id"] for row in rows if row["log_id"] == 1] == list(range(100))
    assert [row["kind"] for row in rows if row["log_id"] == 10] == ["entry", "entry", "problem"]
    assert [row["kind"] for row in rows if row["log_id"] == 11] == []
    assert [row["kind"] for row in rows if row["log_id"] == 12] == ["problem"]


def test_paths_may_be_several(tmp_path: Path) -> None:
    for name in ("1.log", "2.log"):
        (tmp_path / name).write_bytes(log_of(RECORDS[:1]))
    rows = rows_of(paths=f"{tmp_path}/1.log, {tmp_path}/2.log", includePayload="false", includeDigest="true")
    assert [(row["log_id"], row["digest_ok"]) for row in rows] == [(1, True), (2, True)]
    assert "payload" not in rows[0]
    # Spark turns load([…, …]) into this.
    assert len(rows_of(paths=json.dumps([f"{tmp_path}/1.log", f"{tmp_path}/2.log"]))) == 2


def test_a_file_that_is_gone_by_now_is_a_row(tmp_path: Path) -> None:
    options = Options.from_spark({"path": "x"}, Use.ENTRYLOG)
    (batch,) = read_part(LogPart(str(tmp_path / "1.log"), 0, None), options, ["log_id", "problem"])
    (row,) = batch.to_pylist()
    assert row["log_id"] == 1
    assert "cannot be read" in row["problem"]


def test_a_path_has_to_be_named() -> None:
    with pytest.raises(InvalidConfig, match="no entry log is named"):
        rows_of()

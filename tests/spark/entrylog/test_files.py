"""The entry logs that a path names, and the parts of them that each task reads."""

from pathlib import Path

import pytest

from bookkeeper_tx.errors import InvalidConfig
from bookkeeper_tx.spark.entrylog.files import PART_SIZE, PART_SIZE_MIN, LogPart, find_logs, log_id_of, share_out


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    current = tmp_path / "current"
    current.mkdir()
    for name in ("0.log", "1f.log", "2.log128", "lastId", "5.idx", "3.log.compacting"):
        (current / name).write_bytes(b"")
    return tmp_path


def names(paths: list[str]) -> list[str]:
    return [Path(path).name for path in paths]


def test_a_directory_means_its_logs_and_those_in_current(folder: Path) -> None:
    assert names(find_logs([str(folder)])) == ["0.log", "1f.log", "2.log128"]
    assert find_logs([str(folder / "current")]) == find_logs([str(folder), str(folder / "current")])


def test_a_file_may_be_called_anything_and_a_pattern_means_logs(folder: Path) -> None:
    assert names(find_logs([f"file:{folder}/current/lastId"])) == ["lastId"]
    assert names(find_logs([f"file://{folder}/current/0.log"])) == ["0.log"]
    assert names(find_logs([str(folder / "*" / "*")])) == ["0.log", "1f.log", "2.log128", "3.log.compacting"]
    assert names(find_logs([str(folder / "**" / "1*.log")])) == ["1f.log"]


@pytest.mark.parametrize("path", ["absent", "current/5*", "s3://bucket/logs"])
def test_what_is_not_there_is_said(folder: Path, path: str) -> None:
    with pytest.raises(InvalidConfig, match="path"):
        find_logs([path if "://" in path else str(folder / path)])


def test_log_ids_are_hexadecimal() -> None:
    assert [log_id_of(path) for path in ("/a/1f.log", "2.log128", "x.log")] == [31, 2, None]


def test_large_logs_are_cut_and_small_ones_put_together() -> None:
    tasks = share_out([("a", 2 * PART_SIZE + 2), ("b", 10), ("c", 10)])
    assert [len(parts) for parts in tasks] == [1, 1, 3]
    assert [part.first for part in tasks[0] + tasks[1]] == [0, (2 * PART_SIZE + 2) // 3]
    assert tasks[2][0].end is None
    assert tasks[2][1:] == [LogPart("b", 0, None), LogPart("c", 0, None)]


def test_more_tasks_may_be_asked_for() -> None:
    assert len(share_out([("a", 8 * PART_SIZE_MIN)], 4)) == 4
    assert len(share_out([("a", 100)], 4)) == 1
    assert share_out([]) == []
    assert share_out([("a", 0)]) == [[LogPart("a", 0, None)]]

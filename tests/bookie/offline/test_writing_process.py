"""Processes that write the files of a bookie, by a /proc that is none."""

import os
from pathlib import Path

import pytest

from bookkeeper_tx.bookie.offline.writing_process import WritingProcess, writing_process

READING, WRITING, BOTH = "0100000", "0100001", "02100002"


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    return tmp_path / "proc"


def add(proc: Path, pid: object, number: int, path: Path, flags: str) -> None:
    process = proc / str(pid)
    (process / "fd").mkdir(parents=True, exist_ok=True)
    (process / "fdinfo").mkdir(exist_ok=True)
    (process / "fd" / str(number)).symlink_to(path)
    (process / "fdinfo" / str(number)).write_text(f"pos:\t0\nflags:\t{flags}\nmnt_id:\t1\n")


@pytest.mark.parametrize("flags", [WRITING, BOTH])
def test_a_file_open_for_writing_names_its_process(proc: Path, tmp_path: Path, flags: str) -> None:
    current = tmp_path / "data" / "current"
    add(proc, 1, 0, Path("/dev/null"), BOTH)
    add(proc, 77, 3, tmp_path / "data" / "current-not", BOTH)
    add(proc, 4711, 5, current / "1.txn", flags)
    assert writing_process([str(current)], str(proc)) == WritingProcess(4711, str(current / "1.txn"))
    assert writing_process([str(tmp_path / "other")], str(proc)) is None


def test_who_reads_and_who_asks_are_no_bookie(proc: Path, tmp_path: Path) -> None:
    add(proc, 4711, 5, tmp_path / "1.txn", READING)
    add(proc, os.getpid(), 5, tmp_path / "1.txn", BOTH)
    assert writing_process([str(tmp_path)], str(proc)) is None


def test_processes_that_do_not_tell_are_passed_over(proc: Path, tmp_path: Path) -> None:
    add(proc, "self", 5, tmp_path / "1.txn", BOTH)
    (proc / "12" / "fd").mkdir(parents=True)
    (proc / "12" / "fd" / "3").write_text("no link")
    (proc / "13").mkdir()
    add(proc, 14, 5, tmp_path / "1.txn", "junk")
    assert writing_process([str(tmp_path)], str(proc)) is None
    assert writing_process([str(tmp_path)], str(proc / "nowhere")) is None


def test_a_directory_behind_a_link_is_the_same(proc: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    add(proc, 4711, 5, tmp_path / "real" / "1.txn (deleted)", WRITING)
    found = writing_process([str(tmp_path / "link")], str(proc))
    assert found == WritingProcess(4711, str(tmp_path / "real" / "1.txn"))

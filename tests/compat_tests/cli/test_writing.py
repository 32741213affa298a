"""Reports that cannot be written: found before a run, and named in one line after it."""

import os

import click
import pytest

from compat_tests.cli.writing import NotWritten, check_writers, write_reports
from tests.compat_tests.report.sample import every_verdict


def test_new_folders_are_no_trouble(tmp_path):
    check_writers({"json_path": tmp_path / "new" / "er" / "run.json", "html_path": None, "verbose": True})
    assert list(tmp_path.iterdir()) == []


def test_a_path_below_a_file_is_found_before_the_run(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(click.UsageError, match=r"--markdown .*nothing can be written to .*file"):
        check_writers({"markdown_path": tmp_path / "file" / "summary.md"})


def test_a_folder_or_file_that_takes_nothing_is_found_before_the_run(tmp_path, monkeypatch):
    (tmp_path / "run.json").write_text("")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    for name in ("run.json", "other.json"):
        with pytest.raises(click.UsageError, match=f"--json .*{name}"):
            check_writers({"json_path": tmp_path / name})


def test_what_can_be_written_is_written_before_the_trouble_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    options = {"json_path": tmp_path / "file" / "run.json", "markdown_path": tmp_path / "summary.md"}
    with pytest.raises(NotWritten, match="--json"):
        write_reports([every_verdict()], options)
    assert (tmp_path / "summary.md").read_text()

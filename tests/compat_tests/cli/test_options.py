"""Mistakes in the options: the usage errors say what to change."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from compat_tests.cli.main import main

_COMMANDS = {
    "bookie": ["bookie", "--address", "127.0.0.1:1"],
    "client": ["client", "--listen", "127.0.0.1"],
}
_DRIVER = {"bookie": [], "client": ["--", "no-such-driver"]}


@pytest.mark.parametrize(
    ("role", "case", "message"),
    [
        ("bookie", "BKW-READ-0014", "there is no such case; did you mean BKW-READ-014"),
        ("bookie", "bkw-read-014", "there is no such case; did you mean BKW-READ-014"),
        ("bookie", "x", "there is no such case; `bookkeeper-conformance list` shows what there is"),
        ("bookie", "BKW-CREAD-002", "that is a case for a client, and this is a bookie"),
        ("client", "BKW-READ-014", "that is a case for a bookie, and this is a client"),
    ],
)
def test_a_divergence_of_a_case_that_is_not_judged_is_a_mistake(
    role: str, case: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(f'[[divergence]]\ncase = "{case}"\nreference = "1"\nseen = "EIO"\n')
    done = CliRunner().invoke(main, [*_COMMANDS[role], "--features", str(path), *_DRIVER[role]])
    assert done.exit_code == 2
    assert " ".join(f"{path}: divergence of {case}: {message}".split()) in " ".join(done.output.split())


def test_a_divergence_that_is_not_among_the_cases_to_run_is_none(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[[divergence]]\ncase = "BKW-READ-014"\nreference = "1"\nseen = "EIO"\n')
    done = CliRunner().invoke(main, [*_COMMANDS["bookie"], "--only", "BKW-BASE-001", "--features", str(path)])
    assert done.exit_code != 2, done.output


def test_a_driver_that_is_not_there_is_a_mistake() -> None:
    done = CliRunner().invoke(main, ["client", "--", "./no-such-driver", "--verbose"])
    assert done.exit_code == 2
    assert "./no-such-driver: there is no such command" in " ".join(done.output.split())


@pytest.mark.parametrize("pattern", ["bkw-base-001", "Base"])
def test_patterns_may_be_in_small_letters(pattern: str) -> None:
    done = CliRunner().invoke(main, ["list", pattern])
    assert "BKW-BASE-001" in done.output


def test_help_names_no_page_that_is_not_there() -> None:
    root = Path(__file__).parents[3]
    for command in ("bookie", "client", "list", "show", "report", "matrix"):
        text = re.sub(r"-\s+", "-", CliRunner().invoke(main, [command, "--help"]).output)
        for page in re.findall(r"docs/[\w/-]+\.md", text):
            assert (root / page).is_file(), f"{command} --help: {page}"

"""The command that publishes runs."""

import json
from pathlib import Path

import pytest

from compat_tests.judge.verdict import Verdict
from compat_tests.report import publish
from compat_tests.report.mutants import Mutant, Mutants, read_mutants
from compat_tests.report.published import MUTANTS, RUNS
from compat_tests.report.runs import read_json, write_json
from tests.compat_tests.report.sample import case, result, run


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# x\n", encoding="utf-8")
    return tmp_path


def kept(folder: Path, name: str, verdict: Verdict) -> Path:
    """The file of a run with one result."""
    path = folder / f"{name}-{verdict}.json"
    write_json(run([result("BKW-READ-001", verdict)], [case(1)], name), path)
    return path


@pytest.mark.parametrize("arguments", [[], ["--html"], ["none.json"], ["--mutants", "x"]])
def test_publishing_nothing_says_how(arguments: list[str], checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish.main(arguments, checkout) == 2
    assert capsys.readouterr().err
    assert not (checkout / RUNS).exists()


def test_the_pages_are_made_at_once(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trial = checkout / "score.json"
    killed = Mutant("a", "bookie", "It is broken.", "by hand", ("BKW-READ-001",), 2.5)
    trial.write_text(json.dumps(Mutants([killed], ()).to_json()), encoding="utf-8")
    arguments = [str(kept(checkout, "ours", Verdict.PASS)), "--mutants", str(trial)]
    assert publish.main(arguments, checkout) == 0
    assert {str(RUNS), str(MUTANTS), "docs/conformance/matrix.md"} <= set(capsys.readouterr().out.split())
    text = (checkout / "docs/conformance/matrix.md").read_text(encoding="utf-8")
    assert "| bookie | ours | 1 |" in text
    assert "1 of 1 deliberate defects" in text
    assert read_mutants(checkout / MUTANTS).killed == 1
    assert "2.5" not in (checkout / MUTANTS).read_text(encoding="utf-8")


def test_one_target_is_judged_anew_and_the_others_stay(checkout: Path) -> None:
    first = [kept(checkout, name, Verdict.PASS) for name in ("ours", "theirs")]
    assert publish.main([*map(str, first)], checkout) == 0
    anew = kept(checkout, "theirs", Verdict.FAIL)
    assert publish.main([str(checkout / RUNS), str(anew)], checkout) == 0
    ours, theirs = read_json(checkout / RUNS)
    assert (ours.counts, theirs.counts) == ({Verdict.PASS: 1}, {Verdict.FAIL: 1})

"""The forms of a run that programs read."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from attrs import evolve

from compat_tests.judge.verdict import Verdict
from compat_tests.report import badge
from compat_tests.report.junit import write_junit
from compat_tests.report.mutants import Mutant, Mutants, join, read_mutants
from compat_tests.report.rerun_command import rerun_command, without_reports
from compat_tests.report.runs import NotARun, read_all, write_json
from tests.compat_tests.report.sample import case, every_verdict, result, run


def test_a_run_comes_back_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run.json"
    write_json(every_verdict(), path)
    assert read_all([path, path])[1].to_json() == every_verdict().to_json()


def test_a_file_may_hold_several_runs(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    write_json([every_verdict()] * 2, path)
    assert len(read_all([path])) == 2


@pytest.mark.parametrize("text", ["", "[", "7", "[7]", "{}", '{"format": 2}', '{"format": 1}', "null", '"x"'])
def test_what_is_no_run_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "some.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(NotARun, match=r"some\.json is no run"):
        read_all([path])
    with pytest.raises(NotARun, match="says nothing of mutants"):
        read_mutants(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotARun, match="cannot be read"):
        read_all([tmp_path / "none.json"])


# JUnit ---------------------------------------------------------------------------------------------------------------


def test_junit_counts_what_is_wrong(tmp_path: Path) -> None:
    write_junit(every_verdict(), tmp_path / "junit.xml")
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "8",
        "failures": "1",
        "errors": "3",
        "skipped": "1",
    }
    (failure,) = root.iter("failure")
    assert "again: bookkeeper-conformance bookie --target ours --seed 1 --only BKW-READ-003" in str(failure.text)
    assert "0000003d" in str(failure.text)


def test_junit_of_a_target_that_was_not_there_is_an_error(tmp_path: Path) -> None:
    write_junit(run([], [case(1)], not_checked="no JVM"), tmp_path / "junit.xml")
    root = ElementTree.parse(tmp_path / "junit.xml").getroot()
    assert (root.get("tests"), root.get("errors")) == ("1", "1")


def test_junit_of_bytes_that_xml_cannot_hold(tmp_path: Path) -> None:
    odd = result("BKW-READ-001", Verdict.FAIL, message="\0\x1b]]>&\ud800", seen="\x08")
    write_junit(run([odd], [case(1, title="\x01<")], name="\x02"), tmp_path / "junit.xml")
    assert ElementTree.parse(tmp_path / "junit.xml").getroot().get("failures") == "1"


# Badge ---------------------------------------------------------------------------------------------------------------


def test_the_badge_counts_cases(tmp_path: Path) -> None:
    results = [result("BKW-READ-001", Verdict.PASS, "V2"), result("BKW-READ-001", Verdict.PASS, "V3")]
    passed = run(results, [case(1)])
    assert badge.message(passed)[0] == "1/1 cases"
    failed = evolve(passed, results=[*results, result("BKW-READ-001", Verdict.FAIL, "V3")])
    assert badge.message(failed)[0] == "0/1 cases"
    assert len({badge.message(passed)[1], badge.message(failed)[1]}) == 2
    badge.write_badge(passed, tmp_path / "badge.svg")
    assert ElementTree.parse(tmp_path / "badge.svg").getroot().tag.endswith("svg")
    badge.write_badge(passed, tmp_path / "badge.json")
    assert json.loads((tmp_path / "badge.json").read_text())["schemaVersion"] == 1


def test_the_badge_does_not_boast() -> None:
    assert badge.message(run([], [case(1)], not_checked="no JVM"))[0] == "not checked"
    assert badge.message(evolve(every_verdict(), interrupted=True))[0].endswith("interrupted")
    unsupported = run([result("BKW-READ-001", Verdict.UNSUPPORTED)], [case(1)])
    assert badge.message(unsupported)[0] == "nothing supported"


# The rest ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("", ""),
        ("x bookie --target ours", "x bookie --target ours --seed 1 --only BKW-A-001"),
        ("x bookie --address h:1", "x bookie --address h:1 --only BKW-A-001"),  # it has the ledgers of the run before
        ("x bookie --only 'BKW-READ-*' --skip=FENCE --seed 3 --html a.html", "x bookie --seed 3 --only BKW-A-001"),
        ("x client --json=r -- ./d --only 1", "x client --seed 1 --only BKW-A-001 -- ./d --only 1"),
    ],
)
def test_one_case_again(command: str, expected: str) -> None:
    assert rerun_command(run([], [], command=command), "BKW-A-001") == expected


def test_the_command_of_a_run_without_its_reports() -> None:
    command = "x client --json /tmp/a.json --only READ --html=b.html -- ./d --json c"
    assert without_reports(command) == "x client --only READ -- ./d --json c"


def test_the_score_is_not_rounded_up() -> None:
    killed = [Mutant(str(number), "bookie", "", "", ("BKW-A-001",)) for number in range(1999)]
    assert Mutants([*killed, Mutant("survivor", "bookie", "", "", ())], ()).score == "99.9 %"
    assert Mutants(killed, ()).score == "100 %"
    assert Mutants([], ()).score == "none tried"


def test_mutants_are_read(tmp_path: Path) -> None:
    path = tmp_path / "mutants.json"
    one = {"name": "m", "role": "bookie", "sentence": "s", "origin": "o", "killed_by": ["BKW-A-001"], "seconds": 1.5}
    path.write_text(json.dumps({"mutants": [one], "cases_that_kill_none": ["BKW-A-002"]}), encoding="utf-8")
    mutants = read_mutants(path)
    assert mutants.killed == 1
    assert mutants.kills_of("BKW-A-001") == ["m"]
    assert mutants.cases_that_kill_none == ("BKW-A-002",)
    assert mutants.form.startswith("In the short form")
    path.write_text(json.dumps(mutants.to_json()), encoding="utf-8")
    assert read_mutants(path) == mutants
    path.write_text(json.dumps(mutants.to_json(with_times=False)), encoding="utf-8")
    assert read_mutants(path).mutants == [evolve(mutants.mutants[0], seconds=0.0)]
    other = Mutants([Mutant("n", "client", "", "", ("BKW-A-002",))], ("BKW-A-003",))
    assert join([mutants, other]).killed == 2
    assert not join([mutants, Mutants([], (), full=True)]).full
    assert join([mutants, other]).cases_that_kill_none == ("BKW-A-003",)

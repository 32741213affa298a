"""The published form of runs loses nothing but exchanges, the times of cases and their texts."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from compat_tests.judge.case import Case, Level, Role
from compat_tests.judge.result import KnownDivergence, Result, Run, describe
from compat_tests.judge.verdict import Verdict
from compat_tests.report.published import CHANGED, GONE, REMARK, digest, from_published, to_published, write_published
from compat_tests.report.runs import NotARun, read_json
from tests.compat_tests.report.sample import case, every_verdict, result, run

ROOT = Path(__file__).parents[3]


def in_suite(number: int, **fields: Any) -> Case:
    values: dict[str, Any] = {"requirement": "A bookie MUST answer.", "sends": "A read.", "accepts": "EOK.", **fields}
    return Case(
        f"BKW-READ-{number:03}",
        Role.BOOKIE,
        section="sec-read-entry-v2",
        title="it answers",
        script=lambda attempt: None,
        **{"level": Level.MUST, **values},
    )


SUITE = {each.id: each for each in (in_suite(1), in_suite(2))}


def run_of(cases: Iterable[Case], name: str = "ours", results: Sequence[Result] = (), **fields: Any) -> Run:
    texts = [describe(each) for each in cases]
    passes = [Result(text["id"], dialect, Verdict.PASS) for text in texts for dialect in text["dialects"]]
    return run(results or passes, texts, name, **fields)


def bare(results: Iterable[Result]) -> list[Result]:
    return [evolve(each, exchange=(), duration_s=0.0) for each in results]


def from_file(*runs: Run, suite: dict[str, Case] = SUITE) -> list[Run]:
    """The runs as they come back from a file."""
    return from_published(json.loads(json.dumps(to_published(runs))), suite)


def test_every_verdict_comes_back() -> None:
    before = every_verdict()
    (after,) = from_file(before)
    assert sorted(bare(before.results), key=lambda each: each.case) == bare(after.results)
    for name in ("role", "target", "seed", "started", "suite_version", "command", "duration_s", "features"):
        assert getattr(after, name) == getattr(before, name)


@pytest.mark.parametrize(
    "fields",
    [
        {"verdict": Verdict.PASS_NONSTRICT, "message": "it waits", "note": "it waits"},
        {"verdict": Verdict.PASS_NONSTRICT, "note": "it waits"},
        {
            "verdict": Verdict.KNOWN_DIVERGENCE,
            "message": "other words",
            "known": KnownDivergence("S4", "", "It is stored."),
        },
        {
            "verdict": Verdict.KNOWN_DIVERGENCE,
            "message": "S4: It is stored.",
            "known": KnownDivergence("S4", "", "It is stored."),
        },
        {"verdict": Verdict.PASS, "note": "a pass with a note"},
        {"verdict": Verdict.FAIL, "message": "the reply: expected EOK, seen EIO", "expected": "EOK", "seen": "EIO"},
    ],
)
def test_every_text_of_a_result_comes_back(fields: dict[str, Any]) -> None:
    one = Result("BKW-READ-001", "V2", **fields)
    (after,) = from_file(run_of(SUITE.values(), results=[one]))
    assert list(after.results) == [one]


def test_passes_are_not_listed_and_alike_results_are_one_row() -> None:
    lacks = [
        Result("BKW-READ-001", dialect, Verdict.UNSUPPORTED, "the protocol has it since 4.17 only")
        for dialect in ("V2", "V3")
    ]
    passes = [Result("BKW-READ-002", dialect, Verdict.PASS) for dialect in ("V2", "V3")]
    runs = [run_of(SUITE.values(), f"Java {one}", [*lacks, *passes], release=one) for one in ("4.9.2", "4.14.7")]
    data = to_published([*runs, run_of(SUITE.values())])
    assert data["results"] == [
        {
            "case": "BKW-READ-001",
            "dialects": ["V2", "V3"],
            "targets": ["Java 4.9.2", "Java 4.14.7"],
            "verdict": "unsupported",
            "message": "the protocol has it since 4.17 only",
        }
    ]
    assert [each["counts"] for each in data["runs"]] == [
        {"V2": {"pass": 1, "unsupported": 1}, "V3": {"pass": 1, "unsupported": 1}},
        {"V2": {"pass": 1, "unsupported": 1}, "V3": {"pass": 1, "unsupported": 1}},
        {"V2": {"pass": 2}, "V3": {"pass": 2}},
    ]


def test_a_case_that_one_run_lacks_is_no_pass_of_it() -> None:
    whole, part = from_file(run_of(SUITE.values(), "a"), run_of([SUITE["BKW-READ-002"]], "b"))
    assert [each.case for each in part.results] == ["BKW-READ-002"] * 2
    assert [each["id"] for each in part.cases] == ["BKW-READ-002"]
    assert len(whole.results) == 4


def test_a_target_that_was_not_there_has_no_results() -> None:
    runs = [run_of(SUITE.values(), "a"), run([], [], "b", not_checked="no JVM")]
    assert to_published(runs)["results"] == []
    there, missing = from_file(*runs)
    assert (len(there.results), missing.results, missing.not_checked) == (4, [], "no JVM")
    (alone,) = from_file(run([], [describe(SUITE["BKW-READ-001"])], not_checked="no JVM"))
    assert [each["id"] for each in alone.cases] == ["BKW-READ-001"]


def test_a_fault_of_the_suite_has_no_protocol_version() -> None:
    fault = Result("BKW-READ-001", "", Verdict.ERROR, "KeyError: 1", note="Traceback")
    broken, fine = from_file(run_of(SUITE.values(), "a", [fault]), run_of(SUITE.values(), "b"))
    assert list(broken.results) == [fault]
    assert {each.dialect for each in fine.results} == {"V2", "V3"}


def test_runs_stand_in_one_order_whatever_the_order_of_their_files() -> None:
    runs = [
        run_of(SUITE.values(), name, release=name.partition(" ")[2])
        for name in ("java 4.14.7", "bookkeeper_tx 0.1.0", "java 4.9.2")
    ]
    assert to_published(runs) == to_published(runs[::-1])
    names = [each["name"] for each in to_published(runs)["runs"]]
    assert names == ["bookkeeper_tx 0.1.0", "java 4.9.2", "java 4.14.7"]


def test_the_files_of_a_machine_are_not_named() -> None:
    (head,) = to_published([run_of(SUITE.values(), command="x bookie --target ours --json /tmp/a.json")])["runs"]
    assert head["command"] == "x bookie --target ours"


# The texts of cases --------------------------------------------------------------------------------------------------


def test_a_case_has_the_text_of_the_suite() -> None:
    (after,) = from_file(run_of(SUITE.values()))
    assert list(after.cases) == [describe(each) for each in SUITE.values()]


@pytest.mark.parametrize(
    "fields", [{"requirement": "It MAY."}, {"level": Level.MAY}, {"since": "4.17"}, {"needs": ("scopes",)}]
)
def test_a_case_that_requires_something_else_by_now_says_so(fields: dict[str, Any]) -> None:
    now = {**SUITE, "BKW-READ-001": in_suite(1, **fields)}
    (after,) = from_file(run_of(SUITE.values()), suite=now)
    assert [each.get(REMARK) for each in after.cases] == [CHANGED, None]
    (later,) = from_file(after, suite=now)  # the present text is not that of the run either
    assert [each.get(REMARK) for each in later.cases] == [CHANGED, None]


def test_a_new_title_changes_no_case() -> None:
    assert digest({**describe(SUITE["BKW-READ-001"]), "title": "another"}) == digest(describe(SUITE["BKW-READ-001"]))


@pytest.mark.parametrize("now", [SUITE["BKW-READ-001"], in_suite(1, requirement="It MAY.")])
def test_runs_with_different_texts_of_a_case_are_of_neither(now: Case) -> None:
    other = run_of([in_suite(1, requirement="It MAY.")], "b")
    after = from_file(run_of(SUITE.values(), "a"), other, suite={**SUITE, now.id: now})
    assert [each.cases[0].get(REMARK) for each in after] == [CHANGED] * 2


def test_a_case_that_is_gone_says_so() -> None:
    (after,) = from_file(run([result("BKW-OLD-001", Verdict.FAIL)], [case(1, "OLD")]))
    assert (after.cases[0]["id"], after.cases[0]["area"], after.cases[0][REMARK]) == ("BKW-OLD-001", "OLD", GONE)
    assert set(after.cases[0]) == {*describe(SUITE["BKW-READ-001"]), REMARK}


# Files ---------------------------------------------------------------------------------------------------------------


def test_a_file_is_read_as_runs_are(tmp_path: Path) -> None:
    write_published([every_verdict()], tmp_path / "runs.json")
    (after,) = read_json(tmp_path / "runs.json")
    assert after.counts == every_verdict().counts


@pytest.mark.parametrize(
    ("of", "becomes"),
    [
        ('"pass":1', '"pass":2'),
        ('"published": 1', '"published": 2'),
        ('"verdict":"fail"', '"verdict":"failed"'),
        ('"targets":["ours"]', '"targets":["mine"]'),
        ('"bookie_cases"', '"cases"'),
    ],
)
def test_a_file_that_was_damaged_is_refused(tmp_path: Path, of: str, becomes: str) -> None:
    path = tmp_path / "runs.json"
    write_published([every_verdict()], path)
    text = path.read_text(encoding="utf-8")
    assert of in text
    path.write_text(text.replace(of, becomes, 1), encoding="utf-8")
    with pytest.raises(NotARun, match=r"runs\.json"):
        read_json(path)


def test_the_published_files_stay_small() -> None:
    files = [*(ROOT / "docs" / "conformance").glob("*.json")]
    assert len(files) == 2
    assert sum(path.stat().st_size for path in files) < 300_000

"""A run on the console."""

import io

import pytest
from attrs import evolve

from compat_tests.judge.result import Run, TargetInfo
from compat_tests.judge.verdict import Verdict
from compat_tests.report.console import REASONS_SHOWN, Console
from compat_tests.report.verdict_style import STYLES
from tests.compat_tests.report.sample import case, every_verdict, result, run

TRACEBACK = "Traceback (most recent call last):\n  File \"x.py\", line 1, in x\nKeyError: 'boo'"


def shown(run: Run, verbose: bool = False, docs_url: str = "") -> str:
    file = io.StringIO()
    console = Console(verbose, docs_url, file)
    console.begin(run, len(run.results))
    for each in run.results:
        console.result(each)
    console.end(run)
    return file.getvalue()


def test_every_verdict_has_a_look() -> None:
    assert set(STYLES) == set(Verdict)
    assert len({look.sign for look in STYLES.values()}) == len({look.word for look in STYLES.values()}) == len(STYLES)


@pytest.mark.parametrize(
    ("name", "how", "message"),
    [
        ("Java 4.18.0", "in Docker", "bookie Java 4.18.0, in Docker: "),
        ("bookie at h:1", "running already", "bookie at h:1, running already: "),
        ("./driver", "./driver", "bookie ./driver: "),
    ],
)
def test_what_is_judged_is_said_once(name: str, how: str, message: str) -> None:
    text = shown(evolve(every_verdict(), target=TargetInfo(name, how=how)))
    assert text.startswith(message)


def test_a_failure_is_shown_in_full() -> None:
    text = shown(every_verdict(), docs_url="https://docs.example/")
    for part in (
        "✗ FAIL BKW-READ-003 V2",
        "A bookie MUST answer a read of an entry that it lacks with ENOENTRY. (MUST)",
        "https://docs.example/protocol/read-entry.html#sec-read-entry-states",
        "expected ENOENTRY",
        "seen     EIO",
        "--seed 1 --only BKW-READ-003",
        "0  0000003d",
        "closed by the target",
    ):
        assert part in text


def test_the_table_counts_by_area_and_verdict() -> None:
    rows = [line.split() for line in shown(every_verdict()).splitlines()]
    assert ["ADD", "1", "1", "1", "1"] in rows
    assert ["all", *["1"] * len(Verdict)] in rows


def test_no_colours_and_no_bar_in_a_log() -> None:
    assert "\x1b" not in shown(every_verdict())


def test_where_the_suite_failed_is_shown_when_wanted_only() -> None:
    broken = run([result("BKW-READ-001", Verdict.ERROR, message="KeyError: 'boo'", note=TRACEBACK)], [case(1)])
    assert "Traceback" not in shown(broken)
    assert "KeyError: 'boo' (--verbose shows where)" in shown(broken)
    assert "Traceback" in shown(broken, verbose=True)


def test_a_target_that_is_not_there() -> None:
    text = shown(run([], [case(1)], not_checked="nothing listens on 127.0.0.1:1"))
    assert "not checked: nothing listens on 127.0.0.1:1" in text


def test_an_interrupted_run_says_so() -> None:
    assert "interrupted" in shown(evolve(every_verdict(), interrupted=True))


def test_brackets_are_no_markup() -> None:
    odd = result("BKW-READ-001", Verdict.FAIL, message="[bold]x[/bold] [/nothing]", seen="[red]")
    assert "[bold]x[/bold] [/nothing]" in shown(run([odd], [case(1)]))


@pytest.mark.parametrize("verdict", list(Verdict))
def test_results_of_cases_that_nobody_described(verdict: Verdict) -> None:
    assert "BKW-GONE-001" in shown(run([result("BKW-GONE-001", verdict)], [])) or verdict.fine


def test_a_target_that_supports_nothing_does_not_conform() -> None:
    idle = run([result("BKW-READ-001", Verdict.UNSUPPORTED)], [case(1)])
    assert not idle.succeeded
    assert "nothing is supported" in shown(idle)


def test_many_results_that_were_not_reached_are_summed_up() -> None:
    lost = [result(f"BKW-READ-{n:03}", Verdict.NOT_REACHED, message="BKW-BASE-001: fail") for n in range(100)]
    assert "100 not reached  BKW-BASE-001: fail" in shown(run(lost, [case(1)]))
    assert "BKW-READ-007" not in shown(run(lost, [case(1)]))


def test_every_case_is_shown_when_wanted() -> None:
    assert "BKW-READ-001" in shown(run([result("BKW-READ-001", Verdict.PASS)], [case(1)]), verbose=True)


def test_why_cases_are_unsupported_is_summed_up() -> None:
    why = ["no metadata: none was given"] * 3 + ["no scopes"] * 2
    lacking = [
        result(f"BKW-READ-{n:03}", Verdict.UNSUPPORTED, message=reason) for n, reason in enumerate([*why, *why], 1)
    ]
    lines = shown(run(lacking, [case(1)])).splitlines()
    assert "○ 6 unsupported  no metadata: none was given" in lines
    assert "○ 4 unsupported  no scopes" in lines


def test_of_many_reasons_the_most_common_are_shown() -> None:
    numbers = [n for n in range(40) for _ in range(40 - n)]
    lacking = [result("BKW-READ-001", Verdict.UNSUPPORTED, message=f"reason {n}\nat length") for n in numbers]
    lines = [line for line in shown(run(lacking, [case(1)])).splitlines() if "unsupported  reason" in line]
    assert lines == [f"○ {40 - n} unsupported  reason {n}" for n in range(REASONS_SHOWN)]
    left = sum(40 - n for n in range(REASONS_SHOWN, 40))
    assert f"… and {left} more unsupported for {40 - REASONS_SHOWN} other reasons" in shown(run(lacking, [case(1)]))


def test_nothing_is_said_of_what_is_unsupported_where_nothing_is() -> None:
    assert "unsupported" not in shown(run([result("BKW-READ-001", Verdict.PASS)], [case(1)]))

"""How the commands end, whatever their target does."""

import threading
from contextlib import contextmanager

import click
import pytest

from compat_tests.cli import finish, matrix
from compat_tests.cli.finish import CONFORMS, DOES_NOT, FAULT, INTERRUPTED, NOT_CHECKED, exit_code, judge_and_report
from compat_tests.cli.main import main
from compat_tests.judge import run as runs
from compat_tests.judge.result import Result, Run, TargetInfo
from compat_tests.judge.run import Order, SilentProgress
from compat_tests.judge.verdict import Mismatch, Verdict
from compat_tests.report.runs import read_json
from compat_tests.targets.lifetime import CleanupFailed
from compat_tests.targets.unavailable import Unavailable
from tests.compat_tests.judge.fake_environment import BASE, FakeEnvironment, make_case


@contextmanager
def target(leaves=None):
    yield FakeEnvironment()
    if leaves:
        raise CleanupFailed(leaves)


def failing(attempt):
    raise Mismatch("status", "EOK", "EIO")


@pytest.fixture
def catalogue(monkeypatch):
    def catalogue(*cases):
        monkeypatch.setattr("compat_tests.judge.case.CATALOGUE", {case.id: case for case in cases})
        monkeypatch.setattr("compat_tests.judge.schedule.CATALOGUE", {case.id: case for case in cases})
        return Order(cases, seed=1)

    return catalogue


def code_of(order, options=None, leaves=None):
    with pytest.raises(SystemExit) as ended:
        judge_and_report(target(leaves), lambda environment: environment, order, options or {})
    return ended.value.code


def test_a_run_ends_with_what_came_of_it(catalogue):
    assert code_of(catalogue(make_case(BASE))) == CONFORMS
    assert code_of(catalogue(make_case(BASE, failing))) == DOES_NOT


def test_what_is_left_behind_is_said_and_the_reports_are_written(catalogue, tmp_path, capsys):
    path = tmp_path / "run.json"
    assert code_of(catalogue(make_case(BASE)), {"json_path": path}, "a container") == FAULT
    assert "left behind: a container" in capsys.readouterr().err
    assert [result.verdict for result in read_json(path)[0].results] == [Verdict.PASS, Verdict.PASS]


@pytest.mark.parametrize(
    ("verdicts", "options", "code"),
    [
        ([Verdict.PASS, Verdict.UNSUPPORTED], {}, CONFORMS),
        ([Verdict.PASS, Verdict.NOT_CHECKED], {}, DOES_NOT),
        ([Verdict.PASS, Verdict.NOT_REACHED], {}, DOES_NOT),
        ([Verdict.FAIL, Verdict.ERROR], {}, FAULT),
        ([], {"not_checked": "no JVM"}, NOT_CHECKED),
        ([], {}, DOES_NOT),
        ([Verdict.FAIL, Verdict.NOT_REACHED], {"interrupted": True}, INTERRUPTED),
    ],
)
def test_exit_codes(verdicts, options, code):
    results = [Result("BKW-X-001", "V2", verdict) for verdict in verdicts]
    run = Run("bookie", TargetInfo("x"), 1, "2026-01-01T00:00:00Z", "1", results=results, **options)
    assert exit_code(run) == code


def test_a_start_that_goes_wrong_in_any_way_is_reported(catalogue, monkeypatch):
    environment = FakeEnvironment()
    monkeypatch.setattr(environment, "probe", lambda seed, stop: 1 / 0)
    run = runs.perform(environment, catalogue(make_case(BASE)), SilentProgress())
    (result,) = run.results
    assert (result.case, result.verdict) == (BASE, Verdict.ERROR)
    assert "ZeroDivisionError" in result.message
    assert "Traceback" in result.note
    assert exit_code(run) == FAULT


def test_a_run_that_the_first_failure_ends_was_not_interrupted(catalogue):
    order = catalogue(make_case(BASE, failing), make_case("BKW-A-001"))
    run = runs.perform(FakeEnvironment(), Order(order.cases, seed=1, first_failure=True), SilentProgress())
    assert not run.interrupted


def test_one_that_is_interrupted_before_a_failure_was(catalogue):
    stop = threading.Event()
    stop.set()
    order = catalogue(make_case(BASE, failing))
    assert runs.perform(
        FakeEnvironment(), Order(order.cases, seed=1, first_failure=True), SilentProgress(), stop
    ).interrupted


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "ours", "--target", "jave:4.18.0"], "jave:4.18.0"),
        (["--target", "127.0.0.1:3181"], "--address"),
        (["--target", "java:4.18.0/db"], "java:4.18.0/db"),
    ],
)
def test_the_matrix_finds_a_slip_before_it_judges_anything(monkeypatch, tmp_path, arguments, message):
    monkeypatch.setattr(matrix, "_judge", lambda *_: pytest.fail("judged"))
    with pytest.raises(click.UsageError, match=message):
        main.main(["matrix", "--output", str(tmp_path), *arguments], standalone_mode=False)


def test_a_target_that_is_not_there_does_not_keep_the_matrix_from_the_others(monkeypatch, tmp_path, catalogue):
    order = catalogue(make_case(BASE))

    def judge(role, name, stop):
        environment = FakeEnvironment()
        environment.info = TargetInfo(name)
        if name == "ours":
            monkeypatch.setattr(environment, "probe", missing)
        return finish.judge_target(enter(environment), lambda environment: environment, order, SilentProgress(), stop)

    def missing(seed, stop):
        raise Unavailable("no JVM")

    @contextmanager
    def enter(environment):
        yield environment

    monkeypatch.setattr(matrix, "_judge", judge)
    arguments = ["matrix", "--role", "bookie", "--target", "ours", "--target", "java:4.18.0", "--output", str(tmp_path)]
    with pytest.raises(SystemExit) as ended:
        main.main(arguments, standalone_mode=False)
    assert ended.value.code == NOT_CHECKED
    ours, java = read_json(tmp_path / "matrix.json")
    assert (ours.not_checked, [result.verdict for result in java.results]) == ("no JVM", [Verdict.PASS] * 2)

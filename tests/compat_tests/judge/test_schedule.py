"""The order in which cases are tried, and the cases that are not."""

import threading
import time

import pytest

from compat_tests.judge import schedule as schedules
from compat_tests.judge.case import BOTH, V2, V3
from compat_tests.judge.judgement import Measure
from compat_tests.judge.schedule import Pace, Schedule
from compat_tests.judge.verdict import Mismatch, Verdict
from tests.compat_tests.judge.fake_environment import BASE, FakeEnvironment, make_case


def failing(attempt):
    raise Mismatch("x", "a", "b")


@pytest.fixture
def run(monkeypatch):
    def run(*cases, features=None, jobs=2, **options):
        environment = FakeEnvironment()
        monkeypatch.setattr(schedules, "CATALOGUE", {case.id: case for case in cases})
        reported = []
        scheduled = Schedule(
            environment, cases, 1, features or {}, Measure(), Pace(jobs, 1), reported.append, **options
        )
        results = scheduled.run()
        assert sorted(reported, key=repr) == sorted(results, key=repr)
        return environment, {(result.case, result.dialect): result.verdict for result in results}

    return run


def test_each_case_is_tried_in_each_dialect_after_what_it_depends_on(run):
    cases = make_case("BKW-A-001", after=("BKW-B-001",)), make_case("BKW-B-001", dialects=(V3,)), make_case(BASE)
    environment, verdicts = run(*cases)
    assert set(verdicts.values()) == {Verdict.PASS}
    assert len(environment.tried) == 5
    assert environment.tried.index(("BKW-B-001", "V3")) < environment.tried.index(("BKW-A-001", "V2"))
    assert environment.tried.index((BASE, "V2")) < environment.tried.index(("BKW-A-001", "V2"))


def test_what_depends_on_a_failure_is_not_reached(run):
    cases = (
        make_case(BASE),
        make_case("BKW-A-001", after=("BKW-B-001",)),
        make_case("BKW-B-001", failing, dialects=(V2,)),
    )
    environment, verdicts = run(*cases)
    assert verdicts["BKW-A-001", "V2"] is verdicts["BKW-A-001", "V3"] is Verdict.NOT_REACHED
    assert ("BKW-A-001", "V2") not in environment.tried


def test_a_failure_in_one_dialect_does_not_keep_from_the_other(run):
    def script(attempt):
        if attempt.dialect is V2:
            failing(attempt)

    _, verdicts = run(make_case(BASE, script), make_case("BKW-A-001"))
    assert (verdicts["BKW-A-001", "V2"], verdicts["BKW-A-001", "V3"]) == (Verdict.NOT_REACHED, Verdict.PASS)


def test_what_depends_on_the_unsupported_is_unsupported(run):
    cases = make_case(BASE), make_case("BKW-A-001", after=("BKW-B-001",)), make_case("BKW-B-001", needs=("force",))
    _, verdicts = run(*cases, features={"force": "no"})
    assert {verdicts[case_id, dialect] for case_id in ("BKW-A-001", "BKW-B-001") for dialect in BOTH} == {
        Verdict.UNSUPPORTED
    }


def test_a_stopped_run_tries_nothing_more(run):
    stop = threading.Event()
    stop.set()
    environment, verdicts = run(make_case(BASE), make_case("BKW-A-001"), stop=stop)
    assert (environment.tried, set(verdicts.values())) == ([], {Verdict.NOT_REACHED})


def test_the_first_failure_may_be_enough(run):
    cases = make_case(BASE, failing), make_case("BKW-A-001")
    _, verdicts = run(*cases, enough=lambda result: result.verdict is Verdict.FAIL)
    assert verdicts["BKW-A-001", "V2"] is Verdict.NOT_REACHED


def test_what_waits_in_the_queue_when_the_run_is_stopped_is_not_tried(run):
    stop = threading.Event()
    queued = [make_case(f"BKW-A-{number:03}") for number in range(1, 9)]

    def script(attempt):
        stop.set()  # in the thread of the pool, when the rest has been put into the queue or is about to be

    environment, verdicts = run(make_case(BASE), make_case("BKW-0-001", script), *queued, stop=stop, jobs=1)
    assert {verdicts[case.id, dialect] for case in queued for dialect in BOTH} == {Verdict.NOT_REACHED}
    assert {case_id for case_id, _ in environment.tried} == {BASE, "BKW-0-001"}


def test_cases_that_wait_for_each_other_are_named(run):
    cases = make_case(BASE), make_case("BKW-A-001", after=("BKW-B-001",)), make_case("BKW-B-001", after=("BKW-A-001",))
    with pytest.raises(ValueError, match=r"BKW-A-001.*BKW-B-001"):
        run(*cases)


def test_a_case_that_is_tried_alone_has_nobody_beside_it(run):
    beside, most = set(), {}
    lock = threading.Lock()

    def script(attempt):
        key = attempt.brief.case.id, attempt.dialect
        with lock:
            beside.add(key)
            for each in beside:
                most[each] = max(most.get(each, 0), len(beside))
        time.sleep(0.01)
        with lock:
            beside.discard(key)

    heavy = [make_case(f"BKW-A-{number:03}", script, alone=True) for number in (1, 2)]
    light = [make_case(f"BKW-B-{number:03}", script) for number in range(1, 9)]
    last = make_case("BKW-C-001", script, after=("BKW-A-001",))
    _, verdicts = run(make_case(BASE, script), *heavy, *light, last)
    assert set(verdicts.values()) == {Verdict.PASS}
    assert {most[case.id, dialect] for case in heavy for dialect in BOTH} == {1}
    assert max(most.values()) == 2

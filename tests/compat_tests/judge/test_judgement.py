"""The verdict on each way in which a case can end."""

import pytest
from attrs import evolve

from compat_tests.judge.attempt import Brief
from compat_tests.judge.case import MAY, MUST, SHOULD, V2
from compat_tests.judge.divergences import Divergence
from compat_tests.judge.judgement import Measure, judge
from compat_tests.judge.result import TargetInfo
from compat_tests.judge.verdict import Interrupted, Mismatch, NotReached, Unsupported, Verdict
from compat_tests.targets.process import StartFailed
from compat_tests.targets.sites import NotOffered
from compat_tests.targets.unavailable import Unavailable
from protocol_specs.codecs import Malformed
from tests.compat_tests.judge.fake_environment import FakeEnvironment, make_case

ID = "BKW-X-001"
ON_RECORD = Divergence(ID, "D14", "BK#1", "EOK", "It forgets.", since="4.9", until="4.16")


def raising(error):
    def script(attempt):
        raise error

    return script


def result_of(script, *, measure=None, features=None, info=None, **options):
    case, environment = make_case(ID, script, **options), FakeEnvironment()
    environment.info = info or environment.info
    return judge(environment, Brief(case, V2, 1, features or {}), measure or Measure())


def mismatch(attempt):
    attempt.check("status", "EOK", "EFENCED")


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (Mismatch("status", "EOK", "EIO"), Verdict.FAIL),
        (Unsupported("none"), Verdict.UNSUPPORTED),
        (NotOffered("none"), Verdict.UNSUPPORTED),
        (Unavailable("no JVM"), Verdict.NOT_CHECKED),
        (NotReached("no ledger"), Verdict.NOT_REACHED),
        (Interrupted(), Verdict.NOT_REACHED),
        (StartFailed("it ended with 1"), Verdict.FAIL),
        (Malformed("entry", "ledger_id", 0, "needs 8 bytes, has 3"), Verdict.FAIL),
        (KeyError("x"), Verdict.ERROR),
        (AssertionError("x"), Verdict.ERROR),
    ],
)
def test_what_a_case_raises(error, verdict):
    assert result_of(raising(error)).verdict is verdict


def test_a_pass():
    result = result_of(lambda attempt: None)
    assert (result.verdict, result.message, result.case, result.dialect) == (Verdict.PASS, "", ID, "V2")


def test_a_mismatch_tells_what_was_expected_and_seen():
    result = result_of(mismatch)
    assert (result.expected, result.seen, result.message) == (
        "EFENCED",
        "EOK",
        "status: expected EFENCED, seen EOK",
    )


@pytest.mark.parametrize("level", [SHOULD, MAY])
def test_what_does_not_bind_is_a_pass_unless_strict(level):
    assert result_of(mismatch, level=level).verdict is Verdict.PASS_NONSTRICT
    assert result_of(mismatch, level=level, measure=Measure(strict=True)).verdict is Verdict.FAIL


def test_what_is_tolerated_is_a_pass_unless_strict():
    def script(attempt):
        attempt.tolerate("fewer than asked for")

    assert result_of(script).verdict is Verdict.PASS_NONSTRICT
    assert result_of(script).note == "fewer than asked for"
    assert result_of(script, measure=Measure(strict=True)).verdict is Verdict.FAIL


def test_a_failure_on_record_is_a_known_divergence():
    result = result_of(mismatch, measure=Measure(divergences=[ON_RECORD]))
    assert (result.verdict, result.known.code) == (Verdict.KNOWN_DIVERGENCE, "D14")


@pytest.mark.parametrize("level", [MUST, SHOULD])
def test_another_failure_than_the_one_on_record_is_not_excused(level):
    measure = Measure(divergences=[ON_RECORD])
    result = result_of(lambda attempt: attempt.check("status", "EIO", "EFENCED"), measure=measure, level=level)
    assert result.verdict is Verdict.FAIL


def test_an_unexpected_pass_is_a_failure():
    result = result_of(lambda attempt: None, measure=Measure(divergences=[ON_RECORD]))
    assert result.verdict is Verdict.FAIL
    assert "unexpected pass" in result.message


def test_of_an_unknown_release_either_is_right():
    later = Divergence(ID, "D15", "BK#2", "ENOENTRY", "It loses.", since="4.17")
    measure, unknown = Measure(divergences=[ON_RECORD, later]), TargetInfo("somebody's", "java", "", "at an address")
    assert result_of(lambda attempt: None, measure=measure, info=unknown).verdict is Verdict.PASS
    for seen, code in (("EOK", "D14"), ("ENOENTRY", "D15")):
        result = result_of(
            lambda attempt, seen=seen: attempt.check("status", seen, "EFENCED"), measure=measure, info=unknown
        )
        assert (result.verdict, result.known.code) == (Verdict.KNOWN_DIVERGENCE, code)


def test_what_is_on_record_for_other_releases_excuses_nothing():
    later = Divergence(ID, "D14", "BK#1", "EOK", "It forgets.", since="4.17")
    assert result_of(mismatch, measure=Measure(divergences=[later])).verdict is Verdict.FAIL


def test_a_case_is_not_tried_without_what_it_needs():
    result = result_of(mismatch, needs=("force",), features={"force": "no: it closes"})
    assert (result.verdict, result.message) == (Verdict.UNSUPPORTED, "no force: it closes")
    assert result_of(mismatch, features={"v2": "no"}).verdict is Verdict.UNSUPPORTED


def test_what_was_harmed_beside_the_case_counts(monkeypatch):
    monkeypatch.setattr("compat_tests.judge.attempt.Attempt.finish", mismatch)
    assert result_of(lambda attempt: None).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("span", "tried"),
    [({"since": "4.17"}, False), ({"since": "4.16"}, True), ({"until": "4.14"}, False), ({"until": "4.16"}, True)],
)
def test_a_case_is_tried_on_the_releases_that_it_is_for(span, tried):
    verdict = result_of(mismatch, **span).verdict
    assert verdict is (Verdict.FAIL if tried else Verdict.UNSUPPORTED)


def test_a_race_on_record_may_show_or_not():
    race = evolve(ON_RECORD, shows="sometimes")
    assert result_of(lambda attempt: None, measure=Measure(divergences=[race])).verdict is Verdict.PASS
    assert result_of(mismatch, measure=Measure(divergences=[race])).verdict is Verdict.KNOWN_DIVERGENCE

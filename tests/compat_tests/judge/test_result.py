"""A run survives its JSON form."""

import json

import pytest
from attrs import evolve

from compat_tests.judge.case import V2, V3
from compat_tests.judge.recording import Event
from compat_tests.judge.result import KnownDivergence, Result, Run, TargetInfo, describe
from compat_tests.judge.verdict import Verdict
from tests.compat_tests.judge.fake_environment import make_case

EXCHANGE = [
    Event(0.001, "main", "suite", b"\0\1"),
    Event(0.002, "main", "target", b"\2"),
    Event(0.5, "main", "note", text="x"),
]
RESULT = Result(
    "BKW-X-001", "V2", Verdict.KNOWN_DIVERGENCE, "m", "e", "s", "n", 0.25, KnownDivergence("D1", "r", "t"), EXCHANGE
)
RUN = Run(
    "bookie",
    TargetInfo("Java", "java", "4.18.0", "jars"),
    7,
    "2026-01-01T00:00:00Z",
    "0.1",
    "bookkeeper-conformance bookie",
    3.5,
    features={"v2": "yes"},
    cases=[describe(make_case("BKW-X-001", dialects=(V2, V3)))],
    results=[RESULT],
)


def test_there_and_back():
    assert Run.from_json(json.loads(json.dumps(RUN.to_json()))) == RUN


def test_another_version_is_refused():
    with pytest.raises(ValueError, match="format 1"):
        Run.from_json({**RUN.to_json(), "format": 2})


def test_a_run_succeeds_only_if_all_were_tried_and_none_failed():
    assert RUN.succeeded
    assert not evolve(RUN, results=[]).succeeded
    assert not evolve(RUN, interrupted=True).succeeded
    assert not evolve(RUN, not_checked="no JVM").succeeded
    for verdict in Verdict:
        run = evolve(RUN, results=[RESULT, evolve(RESULT, verdict=verdict)])
        bad = (Verdict.FAIL, Verdict.ERROR, Verdict.NOT_REACHED, Verdict.NOT_CHECKED)
        assert run.succeeded is (verdict not in bad)


def test_without_exchanges():
    assert RUN.without_exchanges().results[0].exchange == ()

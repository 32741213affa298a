"""Runs of the conformance suite as its option ``--json`` writes them."""

from typing import Any

from compat_tests.judge.result import KnownDivergence, Result, Run, TargetInfo
from compat_tests.judge.verdict import Verdict

_TARGETS = (TargetInfo("bookkeeper_tx 0.1.0", "bookkeeper_tx", "0.1.0"), TargetInfo("Java 4.9.2", "java", "4.9.2"))
_CASES = [f"BKW-READ-{number:03}" for number in range(1, 11)]
_KNOWN = KnownDivergence("D14", "sec-fencing-java", "The fence is lost.")


def judged_runs() -> list[dict[str, Any]]:
    """Return a run of each of two targets: ten cases in both protocol versions, and none fails."""
    return [
        Run(
            "bookie",
            target,
            seed=1,
            started="2026-01-02T03:04:05Z",
            suite_version="0.1.0",
            results=[_result(case, dialect, target) for case in _CASES for dialect in ("V2", "V3")],
        ).to_json()
        for target in _TARGETS
    ]


def _result(case: str, dialect: str, target: TargetInfo) -> Result:
    if target.implementation != "java" or case not in _CASES[-4:]:
        return Result(case, dialect, Verdict.PASS, duration_s=0.25)
    if case == _CASES[-1]:
        return Result(case, dialect, Verdict.KNOWN_DIVERGENCE, expected="EFENCED", seen="EOK", known=_KNOWN)
    return Result(case, dialect, Verdict.UNSUPPORTED, "the protocol has it since 4.17 only")

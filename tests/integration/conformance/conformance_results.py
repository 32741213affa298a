"""The results of a run, in the form that the tests compare."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from compat_tests.catalogue import load
from compat_tests.judge.case import Case, Role
from compat_tests.judge.divergences import of_implementation
from compat_tests.judge.environment import Environment
from compat_tests.judge.judgement import Measure
from compat_tests.judge.result import Result
from compat_tests.judge.run import Order, perform
from compat_tests.judge.verdict import Verdict
from compat_tests.report.runs import write_json

Results = dict[str, list[Result]]
"""Keyed by case."""


_SEED = 1
"""Of runs that are kept, so that equal exchanges are published once."""


def chosen(session: pytest.Session, role: Role, release: str | None = None, asked_by: str | None = None) -> list[Case]:
    """The cases of a role that this run asks of a release of Java's, or of ours if none is named.

    ``asked_by`` is the name of the test that asks, if others of the role ask other cases.

    A run that is kept is a whole one, whatever ``-k`` leaves of its tests.
    """
    if session.config.getoption("--keep-runs"):
        return load(role)
    parameters = [
        each.callspec.params
        for each in session.items
        if hasattr(each, "callspec") and asked_by in (None, getattr(each, "originalname", None))
    ]
    asked = [each["case"] for each in parameters if each.get("java_release") == release and _of(role, each)]
    return [case for _, case in sorted({case.id: case for case in asked}.items())]


def _of(role: Role, parameters: Mapping[str, Any]) -> bool:
    case = parameters.get("case")
    return isinstance(case, Case) and case.role is role


def results_of(environment: Environment, cases: Sequence[Case], name: str, kept: Path | None) -> Results:
    """Judge a target by these cases; keep the run in the directory ``kept``, if one is given."""
    command = shlex.join(["bookkeeper-conformance", environment.role, "--target", name])
    measure = Measure(divergences=of_implementation(environment.info.implementation))
    run = perform(environment, Order(cases, measure, _SEED if kept else None, command=command))
    if kept:
        kept.mkdir(parents=True, exist_ok=True)
        write_json([run], kept / f"{environment.role}-{name.replace(':', '-')}.json")
    assert run.not_checked is None, run.not_checked
    found: Results = {}
    for result in run.results:
        found.setdefault(result.case, []).append(result)
    return found


def not_passed(results: Sequence[Result]) -> list[str]:
    """The results that are not a plain pass."""
    return [_told(each) for each in results if each.verdict is not Verdict.PASS]


def not_fine(results: Sequence[Result]) -> list[str]:
    """The results that make a run fail."""
    return [_told(each) for each in results if not each.verdict.fine]


def _told(result: Result) -> str:
    return f"{result.dialect}: {result.verdict}: {result.message}"

"""A run as JUnit XML, for continuous integration: an area is a suite, a case in a protocol version is a test."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from compat_tests.judge.result import Result, Run
from compat_tests.judge.verdict import Verdict
from compat_tests.report.annotate import annotate
from compat_tests.report.console import lines
from compat_tests.report.rerun_command import rerun_command
from compat_tests.report.verdict_style import STYLES

EXCHANGE_SHOWN = 20
"""The last frames and remarks, which the output of a failed test has."""

_NOT_IN_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(run: Run, path: Path) -> None:
    """Write the file.

    A target that was not there is an error, not a skipped test, which would pass for a success.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    document_of(run).write(str(path), pretty=True)


def document_of(run: Run) -> JUnitXml:
    """Return the document."""
    document = JUnitXml(_clean(f"bookkeeper-conformance {run.role} {run.target.name}"))
    cases = {case["id"]: case for case in run.cases}
    suites: dict[str, Any] = {}
    for result in run.results:
        case = cases.get(result.case, {})
        area = case.get("area") or result.case.split("-")[1]
        suites.setdefault(area, []).append(_test(run, result, case))
    if run.not_checked is not None:
        missing = TestCase(_clean(f"{run.target.name} is there"), f"conformance.{run.role}")
        missing.result = [Error(_clean(f"not checked: {run.not_checked}"), "not-checked")]
        suites["target"] = [missing]
    for area, tests in sorted(suites.items()):
        suite = TestSuite(f"{run.role} {area}")
        suite.timestamp = run.started
        for name in ("target", "seed", "suite_version"):
            suite.add_property(name, _clean(str(getattr(getattr(run, name), "name", getattr(run, name)))))
        suite.add_testcases(tests)
        document.add_testsuite(suite)
    document.update_statistics()
    return document


def _test(run: Run, result: Result, case: Mapping[str, Any]) -> Any:
    name = " ".join(filter(None, (result.case, result.dialect, case.get("title", ""))))
    test = TestCase(_clean(name), f"conformance.{run.role}.{result.case.split('-')[1].lower()}", result.duration_s)
    style, why = STYLES[result.verdict], _clean(result.message or result.note)
    if result.verdict is Verdict.FAIL:
        test.result = [_with_text(Failure(why, "fail"), run, result, case)]
    elif result.verdict is Verdict.ERROR:
        test.result = [_with_text(Error(why, "error"), run, result, case)]
    elif not result.verdict.fine:
        test.result = [Error(f"{style.word}: {why}", str(result.verdict))]
    elif result.verdict is Verdict.UNSUPPORTED:
        test.result = [Skipped(f"{style.word}: {why}", str(result.verdict))]
    elif result.verdict is not Verdict.PASS:
        known = f"{result.known.code}, {result.known.reference}: {result.known.text}" if result.known else why
        test.system_out = _clean(f"{result.verdict}: {known}")
    return test


def _with_text(outcome: Any, run: Run, result: Result, case: Mapping[str, Any]) -> Any:
    parts = [
        f"requires: {case.get('requirement', '')} ({case.get('level', '')}, {case.get('section', '')})",
        f"expected: {result.expected or case.get('accepts', '')}",
        f"seen: {result.seen}",
        f"note: {_clean(result.note)}",
        f"again: {rerun_command(run, result.case)}",
    ]
    for shown in annotate(result.exchange, run.role)[-EXCHANGE_SHOWN:]:
        parts.append(f"{shown.time_s:.3f} s {shown.line} {shown.sender}: {shown.title}")
        parts += [f"  {line}" for line in lines(shown.rows)]
        parts += [f"  {shown.broken}"] if shown.broken else []
    outcome.text = _clean("\n".join(parts))
    return outcome


def _clean(text: str) -> str:
    """Return text without what XML cannot hold, in whatever form."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)

"""Results of a run as the tests look at them."""

from collections.abc import Sequence

from compat_tests.judge.case import Case
from compat_tests.judge.ground import Ground
from compat_tests.judge.judgement import Measure
from compat_tests.judge.known import of_implementation
from compat_tests.judge.result import Result
from compat_tests.judge.run import Order, perform
from compat_tests.judge.verdict import Verdict

Results = dict[str, list[Result]]
"""By case."""


def results_of(ground: Ground, cases: Sequence[Case]) -> Results:
    """Judge a target by these cases."""
    order = Order(cases, Measure(divergences=of_implementation(ground.info.implementation)))
    run = perform(ground, order)
    assert run.not_checked is None, run.not_checked
    found: Results = {}
    for result in run.results:
        found.setdefault(result.case, []).append(result)
    return found


def not_passed(results: Sequence[Result]) -> list[str]:
    """What is anything but a plain pass."""
    return [_told(each) for each in results if each.verdict is not Verdict.PASS]


def not_fine(results: Sequence[Result]) -> list[str]:
    """What makes a run fail."""
    return [_told(each) for each in results if not each.verdict.fine]


def _told(result: Result) -> str:
    return f"{result.dialect}: {result.verdict}: {result.message}"

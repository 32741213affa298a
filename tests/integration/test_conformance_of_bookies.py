"""Every case of the bookie role against our bookie and against Java's: 4.16.6 and 4.18.0, all releases under --full."""

import pytest

from compat_tests.bookie.ground import BookieGround
from compat_tests.judge.case import Role
from compat_tests.judge.catalogue import load
from compat_tests.judge.judgement import Measure
from compat_tests.judge.known import of_implementation
from compat_tests.judge.run import Order, perform
from compat_tests.judge.verdict import Verdict
from compat_tests.targets.target import TargetOptions, parse

CASES = load(Role.BOOKIE)


def results_of(name):
    """Judge a target; its results by case."""
    with parse(name, TargetOptions(with_metadata=True)) as target:
        order = Order(CASES, Measure(divergences=of_implementation(target.implementation)))
        run = perform(BookieGround(target), order)
    assert run.not_checked is None, run.not_checked
    found = {}
    for result in run.results:
        found.setdefault(result.case, []).append(result)
    return found


def told(result):
    return f"{result.dialect}: {result.verdict}: {result.message}"


@pytest.fixture(scope="module")
def ours():
    return results_of("ours")


@pytest.fixture(scope="module")
def javas(java_release):
    return results_of(f"java:{java_release}")


@pytest.mark.java
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_our_bookie_conforms(case, ours):
    """Ours has everything and is what others are held against: nothing is tolerated."""
    wrong = [
        f"{each.dialect}: {each.verdict}: {each.message}" for each in ours[case.id] if each.verdict != Verdict.PASS
    ]
    assert not wrong


@pytest.mark.java
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_java_bookies_conform_but_for_what_is_known(case, java_release, javas):
    assert not [told(each) for each in javas[case.id] if not each.verdict.fine]

"""Every case of the bookie role against our bookie and against Java's.

The plain run asks one in sixteen of those cases of Java 4.18.0 that need no bookie apart, and its bookies of ours are
forks of one process;
``--full`` asks all cases of all releases, and each of our bookies is started as everywhere else.
"""

from contextlib import nullcontext

import pytest

from compat_tests.bookie.bookie_environment import BookieEnvironment
from compat_tests.catalogue import load
from compat_tests.judge.case import MAY, SITES, Role
from compat_tests.targets.pytest_plugin import is_full
from compat_tests.targets.target import TargetOptions, parse
from tests.integration.conformance.conformance_results import chosen, not_fine, not_passed, results_of
from tests.mutants.fork_server_process import ForkServerProcess
from tests.mutants.launch import AS_IT_IS
from tests.sampling import one_in

pytestmark = [
    pytest.mark.java,
    pytest.mark.one_row,
    pytest.mark.timeout(1200),
]  # the first test waits for the whole run

CASES = load(Role.BOOKIE)
AT_ONE_BOOKIE = [case for case in CASES if case.site == SITES[0]]
AT_OTHERS = [pytest.param(case, marks=pytest.mark.full) for case in CASES if case not in AT_ONE_BOOKIE]


@pytest.fixture(scope="module")
def ours(request, kept_runs):
    with nullcontext() if is_full(request.config) else ForkServerProcess() as forks:
        launcher = tuple(forks.launcher(AS_IT_IS)) if forks else ()
        return _judged("ours", chosen(request.session, Role.BOOKIE), kept_runs, launcher)


@pytest.fixture(scope="module")
def javas(request, java_target, java_release, kept_runs):
    return _judged(f"{java_target}:{java_release}", chosen(request.session, Role.BOOKIE, java_release), kept_runs)


def _judged(name, cases, kept_runs, launcher=()):
    with parse(name, TargetOptions(with_metadata=True, launcher=launcher)) as target:
        return results_of(BookieEnvironment(target), cases, name, kept_runs)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_our_bookie_conforms(case, ours):
    """Our bookie supports everything and is the measure for others: no divergence of it is tolerated."""
    problems = not_fine if case.level is MAY else not_passed
    assert not problems(ours[case.id])


@pytest.mark.parametrize("case", [*one_in(16, AT_ONE_BOOKIE), *AT_OTHERS], ids=lambda case: case.id)
def test_java_bookies_conform_but_for_what_is_known(case, java_release, javas):
    assert not not_fine(javas[case.id])

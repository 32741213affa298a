"""Every case of the client role against our client and against Java's.

The plain run asks a quarter of the cases of our client on asyncio, another of the one whose calls wait, and one of Java
4.18.0; ``--full`` asks all of them.
"""

import pytest

from compat_tests.catalogue import load
from compat_tests.client.client_environment import ClientEnvironment
from compat_tests.client.client_target import parse_client
from compat_tests.judge.case import MAY, Role
from tests.integration.conformance.conformance_results import chosen, not_fine, not_passed, results_of
from tests.sampling import one_in

pytestmark = [
    pytest.mark.java,
    pytest.mark.one_row,
    pytest.mark.timeout(1200),
]  # the first test waits for the whole run

CASES = load(Role.CLIENT)


@pytest.fixture(scope="module")
def ours(request, kept_runs):
    return _judged("ours", chosen(request.session, Role.CLIENT, asked_by=test_our_client_conforms.__name__), kept_runs)


@pytest.fixture(scope="module")
def ours_on_asyncio(request, kept_runs):
    asked_by = test_our_client_on_asyncio_conforms.__name__
    return _judged("ours:aio", chosen(request.session, Role.CLIENT, asked_by=asked_by), kept_runs)


@pytest.fixture(scope="module")
def ours_whose_calls_wait(request, kept_runs):
    asked_by = test_our_client_whose_calls_wait_conforms.__name__
    return _judged("ours:blocking", chosen(request.session, Role.CLIENT, asked_by=asked_by), kept_runs)


@pytest.fixture(scope="module")
def javas(request, java_target, java_release, kept_runs):
    return _judged(f"{java_target}:{java_release}", chosen(request.session, Role.CLIENT, java_release), kept_runs)


def _judged(name, cases, kept_runs):
    with ClientEnvironment(parse_client(name)) as environment:
        return results_of(environment, cases, name, kept_runs)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_our_client_conforms(case, ours):
    problems = not_fine if case.level is MAY else not_passed
    assert not problems(ours[case.id])


@pytest.mark.parametrize("case", one_in(4, CASES), ids=lambda case: case.id)
def test_our_client_on_asyncio_conforms(case, ours_on_asyncio):
    problems = not_fine if case.level is MAY else not_passed
    assert not problems(ours_on_asyncio[case.id])


@pytest.mark.parametrize("case", one_in(4, CASES, first=2), ids=lambda case: case.id)
def test_our_client_whose_calls_wait_conforms(case, ours_whose_calls_wait):
    problems = not_fine if case.level is MAY else not_passed
    assert not problems(ours_whose_calls_wait[case.id])


@pytest.mark.parametrize("case", one_in(4, CASES), ids=lambda case: case.id)
def test_java_clients_conform_but_for_what_is_known(case, java_release, javas):
    assert not not_fine(javas[case.id])

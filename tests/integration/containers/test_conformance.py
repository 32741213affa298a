"""The conformance suite judges Java's bookie and Java's client in containers, by a case of each common area.

``--java-target docker`` has the tests of whole roles judge them by every case.
"""

import attrs
import pytest

from compat_tests.bookie.bookie_environment import BookieEnvironment
from compat_tests.catalogue import load
from compat_tests.client.client_environment import ClientEnvironment
from compat_tests.client.client_target import parse_client
from compat_tests.judge.case import Role
from compat_tests.targets.jars_target import JarsTarget
from tests.integration.conformance.conformance_results import not_fine, results_of

pytestmark = [pytest.mark.java, pytest.mark.docker, pytest.mark.full, pytest.mark.releases(since="4.16.6")]

OF_BOOKIES = ("BASE", "ADD", "READ", "FENCE", "BATCH", "LAC")
OF_CLIENTS = ("CBASE", "CWRITE", "CREAD", "CBATCH", "CREC")


def first_of(role, areas):
    wanted = {f"BKW-{area}-001" for area in areas}
    found = [case for case in load(role) if case.id in wanted]
    assert len(found) == len(wanted)
    return found


def problems(results):
    return {case: found for case, each in results.items() if (found := not_fine(each))}


def test_a_bookie_in_a_container_is_judged(java_release, java_containers):
    with JarsTarget(java_release, make_runner=lambda _: java_containers) as target:
        name = f"docker:{java_release}"
        results = results_of(BookieEnvironment(target), first_of(Role.BOOKIE, OF_BOOKIES), name, None)
        assert "image" in target.how
    assert not problems(results)


def test_a_client_in_a_container_is_judged(java_release, java_containers):
    name = f"docker:{java_release}"
    client = attrs.evolve(parse_client(name), make_runner=lambda _: java_containers)
    with ClientEnvironment(client, processes=1) as environment:
        results = results_of(environment, first_of(Role.CLIENT, OF_CLIENTS), name, None)
    assert not problems(results)

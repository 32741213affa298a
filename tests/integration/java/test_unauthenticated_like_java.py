"""The answers of a bookie that asks for credentials to a client without: Java's and ours, byte for byte."""

from collections.abc import Iterator

import pytest

from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.java.targets import JavaTargets, new_cluster
from compat_tests.targets.lockfile import release_number
from tests.integration.java.comparison import differences
from tests.integration.java.talk import Outcome, Talk
from tests.integration.java.unauthenticated_table import TABLE
from tests.integration.support.security import Secrets

pytestmark = [pytest.mark.java, pytest.mark.full]

FIRST_LEDGER = 1000

Outcomes = dict[str, dict[str, Outcome]]
"""Keyed by exchange and step."""


def talk_to(port: int) -> Outcomes:
    found = {}
    for index, exchange in enumerate(TABLE.exchanges):
        talk = Talk(port, FIRST_LEDGER + 10 * index)
        exchange.parts[0](talk)
        talk.close()
        found[exchange.name] = talk.outcomes
    return found


@pytest.fixture(scope="module")
def secrets(tmp_path_factory) -> Secrets:
    return Secrets.make(tmp_path_factory.mktemp("secrets"))


@pytest.fixture(scope="module")
def ours(secrets, tmp_path_factory) -> Iterator[Outcomes]:
    settings = {**secrets.bookie_sasl, **secrets.jaas}
    with LocalCluster(tmp_path_factory.mktemp("ours"), 1, settings=settings) as cluster:
        yield talk_to(cluster.bookies[0].port)


@pytest.fixture(scope="module")
def javas(java_release, zookeeper, secrets, tmp_path_factory) -> Iterator[Outcomes]:
    with JavaTargets(new_cluster(zookeeper), tmp_path_factory.mktemp("java")) as targets:
        yield talk_to(targets.bookie(java_release, settings=secrets.bookie_sasl, properties=secrets.jaas).port)


@pytest.mark.parametrize("exchange", TABLE.exchanges, ids=lambda each: each.name)
def test_answers_like_java(exchange, java_release, javas, ours):
    assert not differences(exchange, release_number(java_release), javas[exchange.name], ours[exchange.name])

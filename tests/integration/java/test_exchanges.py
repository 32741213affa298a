"""Two bookies, one table: the same frames to a Java bookie and to ours, the same bytes from both.

``Differs`` in the tables lists the known differences, with their releases, and with the bookie that is right.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from attrs import frozen

from bookkeeper_tx.testing.local_cluster import LocalCluster
from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.java.targets import JavaTargets, new_cluster
from compat_tests.targets.lockfile import release_number
from tests.integration.java import (
    read_only_table,
    v2_table,
    v3_table_entries,
    v3_table_lac,
    v3_table_other,
    v3_table_restarts,
)
from tests.integration.java.comparison import differences
from tests.integration.java.talk import Exchange, Outcome, Talk

pytestmark = [pytest.mark.java, pytest.mark.full]

PLAIN = [
    *v3_table_entries.TABLE.exchanges,
    *v3_table_lac.TABLE.exchanges,
    *v3_table_other.TABLE.exchanges,
    *v2_table.TABLE.exchanges,
]
BATCHES = v2_table.BATCH_TABLE.exchanges
READ_ONLY = read_only_table.TABLE.exchanges
RESTARTS = v3_table_restarts.TABLE.exchanges
CLEAN = [each for each in RESTARTS if not each.crash]
CRASHES = [each for each in RESTARTS if each.crash]

#: Ledger ids that no client of the test's cluster is given.
FIRST_LEDGER = 1000
LEDGERS_EACH = 10

Outcomes = dict[str, dict[str, Outcome]]
"""Keyed by exchange and step."""


@frozen
class Site:
    """A bookie that can be started again, and one that only reads."""

    port: int
    read_only_port: int
    restart: Callable[[], object]
    crash: Callable[[], object]


def talk_to(site: Site) -> Outcomes:
    """Hold all exchanges.  Those over a clean stop come first: Java keeps less of them if another add comes between."""
    everything = [*CLEAN, *CRASHES, *PLAIN, *BATCHES, *READ_ONLY]
    ledgers = {each.name: FIRST_LEDGER + LEDGERS_EACH * index for index, each in enumerate(everything)}
    ports = {each.name: site.port for each in everything} | {each.name: site.read_only_port for each in READ_ONLY}
    talks = {name: Talk(port, ledgers[name]) for name, port in ports.items()}
    assert len(talks) == len(everything), "two exchanges have one name"
    for some, restart in ((CLEAN, site.restart), (CRASHES, site.crash), ([*PLAIN, *BATCHES, *READ_ONLY], None)):
        for each in some:
            _hold(each, 0, talks)
        if restart is not None:
            restart()
            for each in some:
                _hold(each, 1, talks)
    return {name: talk.outcomes for name, talk in talks.items()}


def _hold(exchange: Exchange, part: int, talks: dict[str, Talk]) -> None:
    talk = talks[exchange.name]
    try:
        exchange.parts[part](talk)
    finally:
        talk.close()


@pytest.fixture(scope="module")
def ours(tmp_path_factory) -> Iterator[Outcomes]:
    with LocalCluster(tmp_path_factory.mktemp("ours"), 1) as cluster:

        def crash() -> None:
            cluster.kill(0)
            cluster.restart(0)

        read_only = cluster.bookies[cluster.add_bookie(settings={"forceReadOnlyBookie": "true"})]
        yield talk_to(Site(cluster.bookies[0].port, read_only.port, lambda: cluster.restart(0), crash))


@pytest.fixture(scope="module")
def javas(java_release, zookeeper, tmp_path_factory) -> Iterator[Outcomes]:
    work_dir: Path = tmp_path_factory.mktemp("java")
    with JavaTargets(new_cluster(zookeeper), work_dir) as targets:
        bookie: JavaBookie = targets.bookie(java_release)

        def crash() -> None:
            bookie.kill(expire=True)
            bookie.start()

        read_only = targets.bookie(java_release, start=False, settings={"forceReadOnlyBookie": "true"})
        read_only.start(read_only=True)
        yield talk_to(Site(bookie.port, read_only.port, bookie.restart, crash))


@pytest.mark.parametrize("exchange", [*PLAIN, *RESTARTS, *READ_ONLY], ids=lambda each: each.name)
def test_answers_like_java(exchange, java_release, javas, ours):
    assert not differences(exchange, release_number(java_release), javas[exchange.name], ours[exchange.name])


@pytest.mark.releases(since="4.17")
@pytest.mark.parametrize("exchange", BATCHES, ids=lambda each: each.name)
def test_reads_in_batches_like_java(exchange, java_release, javas, ours):
    assert not differences(exchange, release_number(java_release), javas[exchange.name], ours[exchange.name])

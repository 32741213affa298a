"""The measurement of planning measures what it says; how fast it is on this machine is no matter of a test."""

import pytest

from compat_tests.targets.zookeeper import ZooKeeper
from tests.benchmarks.ledger_planning import compare, make_ledgers


@pytest.mark.java
def test_all_ledgers_are_read_each_way(zookeeper_of_its_own: ZooKeeper) -> None:
    make_ledgers(zookeeper_of_its_own.hosts, "/ledgers", 1500)
    result = compare(zookeeper_of_its_own.hosts, "/ledgers", 1500, runs=1)
    for cost in (result.raw, result.read, result.planned):
        assert cost.cpu_us > 0
        assert cost.wall_us > 0
    assert result.ratios(result.raw) == (1, 1)


@pytest.fixture
def zookeeper_of_its_own(tmp_path):
    with ZooKeeper(tmp_path) as server:
        yield server

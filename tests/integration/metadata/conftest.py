"""Servers of these tests: a ZooKeeper and an etcd to break, and a ZooKeeper with TLS and passwords."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.targets.etcd import Etcd
from compat_tests.targets.zookeeper import ZooKeeper
from tests.integration.support.secured_zookeeper import SecuredZooKeeper, secured_zookeeper


@pytest.fixture
def own_zookeeper(tmp_path: Path) -> Iterator[ZooKeeper]:
    """One that a test may freeze and stop."""
    with ZooKeeper(tmp_path) as server:
        yield server


@pytest.fixture
def own_etcd(tmp_path: Path) -> Iterator[Etcd]:
    """One that a test may freeze and stop."""
    with Etcd(tmp_path) as server:
        yield server


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredZooKeeper]:
    """A ZooKeeper with TLS and passwords."""
    with secured_zookeeper(tmp_path_factory.mktemp("secured")) as found:
        yield found

"""Here Java's bookies and clients and their ZooKeeper run in containers, whatever runs them elsewhere; so does etcd.

A module takes a few tests of ``tests/integration/java``, one of each kind, to see that it makes no difference where
Java runs. ``--java-target docker`` runs all of those so. The two modules ``…_in_every_run`` need no ``--full``: half a
minute for a ZooKeeper, a bookie and a client.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.targets.docker.containers import Containers
from compat_tests.targets.etcd import Etcd
from compat_tests.targets.zookeeper import ZooKeeper


@pytest.fixture(scope="session")
def zookeeper(java_containers: Containers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeper]:
    with ZooKeeper(tmp_path_factory.mktemp("zookeeper"), runner=java_containers) as server:
        yield server


@pytest.fixture(scope="session")
def etcd(java_containers: Containers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    with Etcd(tmp_path_factory.mktemp("etcd"), make_process=java_containers.process) as server:
        yield server


@pytest.fixture
def own_zookeeper(java_containers: Containers, tmp_path: Path) -> Iterator[ZooKeeper]:
    """One that a test may stop."""
    with ZooKeeper(tmp_path, runner=java_containers) as server:
        yield server


@pytest.fixture
def own_etcd(java_containers: Containers, tmp_path: Path) -> Iterator[Etcd]:
    """One that a test may stop."""
    with Etcd(tmp_path, make_process=java_containers.process) as server:
        yield server


@pytest.fixture(scope="module", autouse=True)
def _in_containers(java_in_containers: Containers) -> None:
    """Before every fixture of a module that starts something; without a daemon nothing of it is checked."""
    assert java_in_containers.daemon

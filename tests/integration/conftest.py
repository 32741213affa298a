"""The fixtures of integration tests: a real ZooKeeper, real Java bookies and clients of any locked release.

Fixtures:

``zookeeper``      one running server for the session (:class:`ZooKeeper`: ``hosts``, ``pause()``, ``resume()``)
``etcd``           the same of etcd (:class:`Etcd`), in a container where Java is
``cluster``        an empty, initialised cluster for this test (:class:`Cluster`: ``uri``, ``writable_ids()``)
``java_release``   the release of this run of the test; see ``@pytest.mark.releases`` in the plugin
``java_bookie``    ``java_bookie(release, **options)`` starts a :class:`JavaBookie` in the test's cluster
``java_client``    ``java_client(release, v2=..., **options)`` starts a :class:`JavaClient` in the test's cluster
``java_targets``   the source of both (:class:`JavaTargets`)
``module_cluster``, ``module_java_targets``  the same for all tests of a module, where starting takes the time
``face``           the client's face, each in turn: ``OurClient`` is of it
``spark``          one Spark session for the session (``spark_session.py``)

All that these start is stopped after the test, or module, and the ends of the logs are in the report if it failed.
A test that stops or pauses the ZooKeeper itself makes one of its own: ``with ZooKeeper(tmp_path) as zookeeper``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

import pytest

from compat_tests.targets.cluster import Cluster
from compat_tests.targets.etcd import Etcd
from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.java.client import JavaClient
from compat_tests.targets.java.targets import JavaTargets, new_cluster
from compat_tests.targets.process import ServerProcess
from compat_tests.targets.zookeeper import ZooKeeper
from tests.integration.spark.spark_session import spark as spark
from tests.integration.support.our_client import FACES, face_of_clients

_PLUGIN = "compat_tests.targets.pytest_plugin"


def pytest_configure(config: pytest.Config) -> None:
    """Have the plugin even where only this directory is collected; its options come with ``-p`` only."""
    config.pluginmanager.import_plugin(_PLUGIN)


@pytest.fixture(params=list(FACES))
def face(request: pytest.FixtureRequest) -> Iterator[str]:
    """The face of our client: on Twisted's reactor, on an asyncio loop, and the one whose calls wait, on threads."""
    with face_of_clients(request.param):
        yield request.param


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeper]:
    with ZooKeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server


@pytest.fixture(scope="session")
def etcd(java_target: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    runs_in = request.getfixturevalue("java_containers").process if java_target == "docker" else ServerProcess
    with Etcd(tmp_path_factory.mktemp("etcd"), make_process=runs_in) as server:
        yield server


@pytest.fixture
def cluster(zookeeper: ZooKeeper) -> Cluster:
    return new_cluster(zookeeper)


@pytest.fixture
def java_targets(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaTargets]:
    with JavaTargets(cluster, tmp_path_factory.mktemp("java")) as targets:
        yield targets


@pytest.fixture
def java_bookie(java_targets: JavaTargets) -> Callable[..., JavaBookie]:
    return java_targets.bookie


@pytest.fixture
def java_client(java_targets: JavaTargets) -> Callable[..., JavaClient]:
    return java_targets.client


@pytest.fixture(scope="module")
def module_cluster(zookeeper: ZooKeeper) -> Cluster:
    return new_cluster(zookeeper)


@pytest.fixture(scope="module")
def module_java_targets(module_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaTargets]:
    with JavaTargets(module_cluster, tmp_path_factory.mktemp("java")) as targets:
        yield targets


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the ends of the Java logs under a failed test."""
    report = yield
    if report.failed:
        fixtures = getattr(item, "funcargs", {}).values()
        # Either the targets themselves, or an object of the module that holds them.
        found = {id(each): each for each in (getattr(fixture, "java_targets", fixture) for fixture in fixtures)}
        for targets in found.values():
            if isinstance(targets, JavaTargets):
                report.sections.extend(targets.logs())
    return report

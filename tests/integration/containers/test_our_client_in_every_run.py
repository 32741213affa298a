"""Our client on one Java bookie in a container: every run has this, where a daemon can be had."""

from collections.abc import Iterator

import pytest
from attrs import frozen

from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.java.targets import JavaTargets, new_cluster
from tests.integration.java.test_our_client_on_java import ours as ours
from tests.integration.java.test_our_client_on_java import test_reads_in_batches as test_reads_in_batches
from tests.integration.java.test_our_client_on_java import (
    test_recovers_what_a_writer_left_open as test_recovers_what_a_writer_left_open,
)

pytestmark = [pytest.mark.java, pytest.mark.docker, pytest.mark.releases(since="4.18")]


@frozen
class Site:
    """A bookie and no client of Java's, which would take as long to start."""

    bookie: JavaBookie
    uri: str


@pytest.fixture(scope="module")
def site(java_release, zookeeper, tmp_path_factory) -> Iterator[Site]:
    cluster = new_cluster(zookeeper)
    with JavaTargets(cluster, tmp_path_factory.mktemp("java")) as targets:
        yield Site(targets.bookie(java_release), cluster.uri)

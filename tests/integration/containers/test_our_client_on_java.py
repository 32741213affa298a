"""Our client on Java's bookies in containers: they refuse a batch read, or end the connection on it.

4.18.0 answers a bad request over V3, and 4.16.6 ends the connection. That 4.18.0 serves batches over V2 is in
test_our_client_in_every_run.py.
"""

from collections.abc import Iterator

import pytest
from attrs import frozen

from compat_tests.targets.cluster import Cluster
from compat_tests.targets.java.bookie import JavaBookie
from compat_tests.targets.java.client import JavaClient
from compat_tests.targets.java.targets import JavaTargets, new_cluster
from tests.integration.java.test_our_client_on_java import ours as ours
from tests.integration.java.test_our_client_on_java import (
    test_reads_singly_where_batch_read_is_lacking as test_reads_singly_where_batch_read_is_lacking,
)
from tests.integration.java.test_our_client_on_java import test_writes_reads_and_fences as test_writes_reads_and_fences
from tests.integration.java.test_our_v3_client_on_java import (
    test_batch_read_is_found_lacking_and_harms_nothing as test_batch_read_is_found_lacking_and_harms_nothing,
)
from tests.integration.support.our_client import OurClient

pytestmark = [pytest.mark.java, pytest.mark.docker, pytest.mark.full, pytest.mark.releases(main=True)]


@frozen
class Site:
    """What the tests of both modules know a site by; a container takes longer to start than the tests do."""

    cluster: Cluster
    bookie: JavaBookie
    java: JavaClient
    ours: OurClient
    """It speaks V3."""

    @property
    def uri(self) -> str:
        return self.cluster.uri


@pytest.fixture(scope="module")
def site(java_release, zookeeper, tmp_path_factory) -> Iterator[Site]:
    cluster = new_cluster(zookeeper)
    with (
        JavaTargets(cluster, tmp_path_factory.mktemp("java")) as targets,
        OurClient(cluster.uri, protocol="v3") as ours,
    ):
        yield Site(cluster, targets.bookie(java_release), targets.client(java_release, v2=True), ours)

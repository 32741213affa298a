"""The contract of metadata stores on an etcd and a ZooKeeper in containers, and both of them away for a while."""

from pathlib import Path

import pytest

from bookkeeper_tx.metadata.zookeeper.paths import HIERARCHICAL
from tests.integration.metadata.real_clusters import RealCluster, real_cluster
from tests.integration.metadata.test_aio_store import (
    test_who_watches_is_told_also_after_the_server_was_away as test_who_watches_is_told_also_after_the_server_was_away,
)
from tests.integration.metadata.test_store import test_contract as test_contract

pytestmark = [pytest.mark.docker, pytest.mark.full, pytest.mark.one_row]


@pytest.fixture(
    params=[pytest.param("etcd", marks=pytest.mark.etcd), pytest.param(HIERARCHICAL, marks=pytest.mark.java)]
)
def metadata_cluster(request: pytest.FixtureRequest, tmp_path: Path) -> RealCluster:
    return real_cluster(request.param, request, tmp_path)

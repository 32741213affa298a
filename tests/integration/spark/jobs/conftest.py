"""Fixtures of the tests of jobs: two clusters of ours, and a way to run a job."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bookkeeper_tx.spark.jobs.arguments import Cluster, quorums
from bookkeeper_tx.spark.jobs.steps import Progress
from bookkeeper_tx.spark.jobs.summary import Summary
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.integration.spark.jobs.filled import Filled, fill
from tests.integration.support.our_client import OurClient


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """A cluster with three bookies and ledgers."""
    with (
        LocalCluster(tmp_path_factory.mktemp("jobs"), bookie_count=3) as cluster,
        OurClient(cluster.metadata_uri, protocol="v3") as client,
    ):
        yield fill(cluster, client)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Another cluster, with one bookie."""
    with LocalCluster(tmp_path_factory.mktemp("other"), bookie_count=1) as cluster:
        yield Cluster(cluster.metadata_uri, quorums(1))


@pytest.fixture
def do(spark: Any) -> Callable[..., Summary]:
    """``do(job, settings)`` runs a job without its command line."""

    def do(job: Any, settings: Any) -> Summary:
        lines: list[str] = []
        summary = job.run(spark, settings, Progress(lines.append))
        assert lines
        return summary  # type: ignore[no-any-return]

    return do

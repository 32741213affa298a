"""The contract of tests/metadata/contract.py on real stores: an SQLite file, real ZooKeepers, a real etcd."""

from pathlib import Path

import pytest

from tests.integration.metadata.real_clusters import ALL_STORES, RealCluster, real_cluster
from tests.metadata import bookie_scenarios, contract, ledger_scenarios, record_scenarios  # noqa: F401 -- they add
from tests.reactor_thread import run_in_reactor


@pytest.fixture(params=ALL_STORES)
def metadata_cluster(request: pytest.FixtureRequest, tmp_path: Path) -> RealCluster:
    return real_cluster(request.param, request, tmp_path)


@pytest.mark.parametrize("scenario", contract.SCENARIOS)
def test_contract(metadata_cluster: RealCluster, scenario: contract.Scenario) -> None:
    async def run() -> None:
        try:
            await scenario(metadata_cluster)
        finally:
            await metadata_cluster.close()

    run_in_reactor(run, timeout_s=45)

"""``bktx bench spark`` measures the workloads that it names; no test depends on the speed of this machine."""

import json
import uuid
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from bookkeeper_tx.cli.bench import planning, planning_stores
from bookkeeper_tx.cli.bench.planning_stores import planning_store
from bookkeeper_tx.errors import InvalidArgument, MetadataUnavailable
from compat_tests.targets.zookeeper import ZooKeeper
from tests.cli.bktx_process import bktx

ENTRIES = 20_000
COUNT = 1100


@pytest.mark.full
@pytest.mark.spark
def test_json_has_every_figure_of_every_run() -> None:
    options = ("--entries", str(ENTRIES), "--runs", "2", "--ledgers", "300", "--json")
    done = bktx("bench", "spark", *options, timeout_s=800)
    assert done.returncode == 0, done.stderr.decode()
    report = json.loads(done.stdout)
    assert report["machine"]["pyspark"]
    assert report["fill_without_spark"]["entries"] == ENTRIES
    workloads = {each["workload"]: each for each in report["workloads"]}
    rows = {"read_batch": ENTRIES, "read_single": ENTRIES, "export_parquet": ENTRIES, "sink": ENTRIES // 5}
    assert workloads.keys() == rows.keys()
    for name, workload in workloads.items():
        assert [run["rows"] for run in workload["runs"]] == [rows[name]] * 2
        for run in workload["runs"]:
            assert run["rows_per_s"] > 0
            assert run["worker_cpu_us_per_row"] > 0
            assert run["bookie_cpu_us_per_row"] > 0
    assert report["single_to_batch"]["bookie_cpu_us_per_row"] > 0
    assert 0 < report["worker_memory"]["after_part_bytes"] <= report["worker_memory"]["after_all_bytes"]
    assert len(report["planning"]["runs"]) == 2
    assert report["planning"]["median"]["load_s"] > 0


@pytest.mark.full
@pytest.mark.java
def test_ledgers_to_plan_over_are_made_in_zookeeper_and_deleted(zookeeper: ZooKeeper, tmp_path: Path) -> None:
    root = f"/bench-{uuid.uuid4()}"
    uri = f"zk://{zookeeper.hosts}{root}/planning"
    with planning_store(uri, tmp_path, COUNT) as store:
        (run,) = planning.compare(store, COUNT, lambda uri: (0.0, 0.0), runs=1)
        assert min(run.raw_s, run.read_s, run.listed_and_read_s) > 0
        with pytest.raises(InvalidArgument, match="not there yet"), planning_store(uri, tmp_path, COUNT):
            pytest.fail("a cluster that was there has been taken for ours")
        assert store.raw_reads(COUNT) == COUNT
    client = KazooClient(zookeeper.hosts)
    client.start()
    try:
        assert client.get_children(root) == []
        client.delete(root)
    finally:
        client.stop()
        client.close()


@pytest.mark.full
@pytest.mark.java
def test_a_zookeeper_that_is_lost_ends_the_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning_stores, "TIMEOUT_S", 5.0)
    lost = pytest.raises(MetadataUnavailable, match="was lost, with /planning made in part")
    with ZooKeeper(tmp_path) as server, lost, planning_store(f"zk://{server.hosts}/planning", tmp_path, COUNT):
        server.stop()

"""The bench beside Java and on Java's bookies; no test looks at the speed."""

import json

import pytest

from bookkeeper_tx.cli.bench.java_side import COMPARABLE
from tests.cli.bktx_process import bktx

pytestmark = pytest.mark.java


@pytest.mark.full
@pytest.mark.releases(since="4.17")
def test_java_is_measured_beside_ours(java_release):
    assert java_release in COMPARABLE
    options = ("--java", java_release, "--quick", "--entries", "300", "--ledgers", "1", "--ledgers", "7", "--json")
    done = bktx("bench", "compare", *options, timeout_s=300)
    assert done.returncode == 0, done.stderr.decode()
    report = json.loads(done.stdout)
    assert report["machine"]["java"] == java_release
    assert [row["row"] for row in report["rows"]] == [
        "adds, 1 ledger",
        "single reads, 1 ledger",
        "batches of 100",
        "batches of 500",
        "one by one",
        "adds, 7 ledgers",
        "single reads, 7 ledgers",
    ]
    for row in report["rows"]:
        for side in ("ours", "java"):
            (run,) = row["runs"][side]
            assert run["entries"] == (30 if row["row"] == "one by one" else 300)
            assert run["client_cpu_us_per_entry"] > 0
            assert run["bookie_cpu_us_per_entry"] > 0
        assert all(ratio > 0 for ratio in row["ratios"].values())


@pytest.mark.full
@pytest.mark.parametrize("protocol", ["v2", "v3"])
def test_bookies_of_java_are_measured(java_bookie, cluster, java_release, protocol):
    pids = [str(java_bookie(java_release).process.pid) for _ in range(2)]
    given = ("--metadata", cluster.uri, "--bookie-pid", pids[0], "--bookie-pid", pids[1], "--replicas", "2")
    shape = ("--entries", "300", "--runs", "1", "--size", "100", "--ledgers", "3", "--protocol", protocol)
    reads = ("--workload", "single_reads", "--workload", "reads_beside_adds")
    done = bktx("bench", *given, *shape, *reads, "--json", timeout_s=200)
    assert done.returncode == 0, done.stderr.decode()
    (series,) = json.loads(done.stdout)["series"]
    assert [each["workload"] for each in series["workloads"]] == ["adds", "single_reads", "reads_beside_adds"]
    assert all(each["best"]["bookie_cpu_us_per_entry"] > 0 for each in series["workloads"])

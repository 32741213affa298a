"""``bktx bench`` runs every workload and reports every figure; no test looks at the speed."""

import json

import pytest

from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.cli.bktx_process import bktx

ENTRIES = 2_000
WORKLOADS = ["adds", "range_of_single_reads", "single_reads", "batch_reads", "adds_one_at_a_time"]


def test_json_has_every_figure_of_every_run():
    options = ("--entries", str(ENTRIES), "--runs", "2", "--size", "100", "--json")
    done = bktx("bench", *options, timeout_s=200)
    assert done.returncode == 0, done.stderr.decode()
    report = json.loads(done.stdout)
    assert report["machine"]["cores"] >= 1
    assert [series["payload_size"] for series in report["series"]] == [100]
    for series in report["series"]:
        assert sorted(each["workload"] for each in series["workloads"]) == sorted(WORKLOADS)
        for workload in series["workloads"]:
            assert len(workload["runs"]) == 2
            for run in workload["runs"]:
                assert run["entries_per_s"] > 0
                assert run["client_cpu_us_per_entry"] > 0
                assert run["bookie_cpu_us_per_entry"] > 0
                assert 0 < run["latency_p50_ms"] <= run["latency_p99_ms"]
            assert workload["best"]["client_cpu_us_per_entry"] <= workload["median"]["client_cpu_us_per_entry"]
            assert workload["best"]["entries_per_s"] >= workload["median"]["entries_per_s"]
        assert all(run["fdatasync_p50_us"] > 0 for run in series["one_add"]["runs"])
        assert all(run["rss_bytes_max"] > 0 for run in series["bookie_after_adds"])


def test_a_given_cluster_is_measured_and_left_running(tmp_path):
    with LocalCluster(tmp_path, 1) as cluster:
        options = ("--entries", "1000", "--runs", "1", "--size", "100", "--sizes", "equal")
        given = ("--metadata", cluster.metadata_uri, "--bookie-pid", str(cluster.bookies[0].pid))
        done = bktx("bench", *options, *given, timeout_s=100)
        assert done.returncode == 0, done.stderr.decode()
        shown = done.stdout.decode()
        for workload in WORKLOADS:
            assert workload.replace("_", " ") in shown
        assert cluster.bookies[0].running


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--metadata", "sqlite:////tmp/x", "--directory", "y"), b"--directory"),
        (("--bookie-pid", "1"), b"--metadata"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(arguments, said):
    done = bktx("bench", *arguments)
    assert done.returncode == 2
    assert said in done.stderr

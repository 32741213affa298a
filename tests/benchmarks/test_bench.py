"""``bktx bench`` runs every workload and reports every figure; no test looks at the speed."""

import json

import pytest

from bookkeeper_tx.cli.bench.series import WORKLOADS
from bookkeeper_tx.testing.local_cluster import LocalCluster
from tests.cli.bktx_process import bktx

ENTRIES = 2_000


def measured(*options):
    """Return the figures of a run."""
    done = bktx("bench", *options, "--json", timeout_s=200)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def test_json_has_every_figure_of_every_run():
    report = measured("--entries", str(ENTRIES), "--runs", "2", "--size", "100", "--ledgers", "5")
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
                assert 0 < run["latency_p50_ms"] <= run["latency_p99_ms"] <= run["latency_max_ms"]
                assert run["client_rss_bytes_max"] > 0
                assert run["bookie_rss_bytes_max"] > 0
            assert workload["best"]["client_cpu_us_per_entry"] <= workload["median"]["client_cpu_us_per_entry"]
            assert workload["best"]["entries_per_s"] >= workload["median"]["entries_per_s"]
        assert all(run["fdatasync_p50_us"] > 0 for run in series["one_add"]["runs"])
        assert series["loop_cpu_us_per_entry"] > 0
        assert all(run["rss_bytes_max"] > 0 for run in series["bookie_after_adds"])


@pytest.mark.parametrize(
    "shape",
    [
        ("--clients", "2", "--protocol", "v3", "--sizes", "mixed"),
        pytest.param(("--clients", "2", "--protocol", "v2"), marks=pytest.mark.full),
        pytest.param(("--ensemble", "3", "--restarts"), marks=pytest.mark.full),
        pytest.param(("--ensemble", "3", "--write-quorum", "2"), marks=pytest.mark.full),
    ],
)
def test_any_shape_of_load_can_be_measured(shape):
    options = ("--entries", "1000", "--runs", "1", "--size", "100", "--ledgers", "2", "--window", "50")
    (series,) = measured(*options, *shape)["series"]
    assert ("restarts" in series) == ("--restarts" in shape)
    assert all(seconds > 0 for seconds in series.get("restarts", {}).values())
    striped = "--write-quorum" in shape
    found = {each["workload"]: each["runs"][0]["entries"] for each in series["workloads"]}
    assert found == {
        name: 100 if name.endswith("one_at_a_time") else 1000
        for name in WORKLOADS
        if not (striped and name.startswith("batch"))
    }
    assert all(each["best"]["bookie_cpu_us_per_entry"] > 0 for each in series["workloads"])


def test_a_given_cluster_is_measured_and_left_running(tmp_path):
    with LocalCluster(tmp_path, 1) as cluster:
        options = ("--entries", "1000", "--runs", "1", "--size", "100", "--sizes", "equal", "--ledgers", "1")
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
        (("--metadata", "sqlite:////tmp/x", "--restarts"), b"--restarts"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(arguments, said):
    done = bktx("bench", *arguments)
    assert done.returncode == 2
    assert said in done.stderr

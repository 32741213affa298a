"""The options of ``bktx bench``, and how its figures look; tests/benchmarks/test_bench.py runs it."""

import io

import pytest
from attrs import evolve
from click import UsageError
from rich.console import Console

from bookkeeper_tx.cli.bench import bench as module
from bookkeeper_tx.cli.bench import report as bench_report
from bookkeeper_tx.cli.bench.bench import quorums
from bookkeeper_tx.cli.bench.measurement import best, median
from bookkeeper_tx.cli.bench.series import WORKLOADS, Series
from bookkeeper_tx.cli.main import run_command
from tests.cli.bench.test_measurement import RUN

RUN_OF_MANY = evolve(RUN, latency_max_ms=77.0, client_rss_bytes_max=2**26, bookie_rss_bytes_max=2**27)


def report(**changes):
    one_add = {"ratio": 1.5, "p50_us": 300.0, "fdatasync_p50_us": 150.0, "loopback_round_trip_p50_us": 50.0}
    series = {
        "title": "1,000 entries",
        "runs": 1,
        "loop_cpu_us_per_entry": 0.75,
        "one_add": {"runs": [one_add]},
        "bookie_after_adds": [{"rss_bytes_max": 2**27, "flushes_seen": 4, "log_rolls": 2}],
        "workloads": [
            {
                "workload": "range_of_single_reads",
                "best": best([RUN_OF_MANY]),
                "median": median([RUN_OF_MANY]),
                "runs": [RUN_OF_MANY.as_dictionary()],
            }
        ],
    }
    return {"machine": {"python": "3.11", "system": "Linux", "cores": 2}, "series": [{**series, **changes}]}


@pytest.fixture
def plans(monkeypatch):
    """The series of each measurement that was asked for; none is made."""
    found = []

    def measure(plan, clusters, restarts, progress):
        found.append([series for group in plan for series in group])
        return report()

    monkeypatch.setattr(module, "_measure", measure)
    return found


def test_many_ledgers_are_the_default(plans):
    assert run_command(["bench", "--size", "100"]) == 0
    ((series,),) = plans
    assert series == Series(entries=1_000_000, payload_size=100, runs=5, ledgers=100, workloads=WORKLOADS)


def test_options_shape_the_load(plans):
    shape = (
        "--ledgers 7 --clients 3 --window 20 --protocol v3 --sizes mixed --size 50 --ensemble 3 --entries 900 --runs 1"
    )
    assert run_command(["bench", *shape.split(), "--workload", "adds", "--workload", "single_reads", "--json"]) == 0
    ((series,),) = plans
    assert series == Series(
        entries=900,
        payload_size=50,
        sizes="mixed",
        runs=1,
        ledgers=7,
        clients=3,
        ensemble=3,
        write_quorum=3,
        ack_quorum=2,
        window=20,
        protocol="v3",
        workloads=("adds", "single_reads"),
    )


def test_each_size_and_distribution_is_a_series(plans):
    assert run_command(["bench", "--quick", "--sizes", "both", "--size", "1", "--size", "2"]) == 0
    (plan,) = plans
    assert [(series.payload_size, series.sizes) for series in plan] == [
        (1, "equal"),
        (1, "variable"),
        (2, "equal"),
        (2, "variable"),
    ]
    assert {series.entries for series in plan} == {module.ENTRIES_QUICK}


def test_each_face_is_a_series(plans):
    faces = ["--face", "twisted", "--face", "blocking"]
    assert run_command(["bench", "--quick", "--size", "1", "--size", "2", *faces]) == 0
    (plan,) = plans
    assert [(series.payload_size, series.face) for series in plan] == [
        (1, "twisted"),
        (1, "blocking"),
        (2, "twisted"),
        (2, "blocking"),
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((1, None, None, None), (1, 1, 1)),
        ((3, None, None, None), (3, 3, 3)),
        ((1, 3, None, None), (3, 3, 2)),
        ((1, 5, 3, None), (5, 3, 2)),
        ((1, None, 2, None), (2, 2, 2)),
        ((3, None, None, 2), (3, 3, 2)),
        ((1, 3, 2, 2), (3, 2, 2)),
    ],
)
def test_quorums_that_are_not_given_follow_from_the_others(given, expected):
    assert quorums(*given) == expected


@pytest.mark.parametrize("given", [(1, 2, 3, None), (1, 3, 2, 3), (1, None, None, 2)])
def test_quorums_that_cannot_be_are_wrong_usage(given):
    with pytest.raises(UsageError, match="quorum"):
        quorums(*given)


def test_our_own_cluster_has_as_many_bookies_as_the_ensemble(tmp_path):
    (cluster,) = module._clusters([[Series(entries=900, payload_size=9, runs=1, ensemble=3)]], None, (), tmp_path)
    assert len(cluster.local.bookies) == 3
    assert cluster.settings["ledgerStorageClass"] == "SortedLedgerStorage"


def test_our_own_bookies_have_the_class_of_storage_that_is_asked_for(tmp_path):
    plan = [[Series(entries=900, payload_size=9, runs=1)]]
    (cluster,) = module._clusters(plan, None, (), tmp_path, "DbLedgerStorage")
    assert cluster.settings["ledgerStorageClass"] == "DbLedgerStorage"


def shown(figures):
    console = Console(file=io.StringIO(), width=140)
    bench_report.show(figures, console)
    return console.file.getvalue()


def test_the_table_has_every_figure():
    text = shown(report())
    for figure in ("range of single reads", "500", "77", "4.00", "2.00", "0.75", "300 µs", "64 MiB", "128 MiB", "4/2"):
        assert figure in text
    assert "cores busy" not in text


def test_without_adds_one_at_a_time_there_is_no_line_about_them():
    text = shown(report(one_add=None, bookie_after_adds=[]))
    assert "one add at a time" not in text
    assert "bookie:" not in text


def test_restarts_have_a_line_if_they_were_measured():
    assert "SIGKILL" not in shown(report())
    text = shown(report(restarts={"start_after_sigkill_s": 1.25, "stop_at_sigterm_s": 2.5, "start_after_stop_s": 3.5}))
    assert "serve 1.2 s after a start that follows SIGKILL, end 2.5 s after SIGTERM, and serve 3.5 s" in text


def test_a_busy_machine_is_said():
    busy = evolve(RUN_OF_MANY, other_cores=1.25)
    text = shown(report(workloads=[{**report()["series"][0]["workloads"][0], "runs": [busy.as_dictionary()]}]))
    assert "1.2 cores busy" in text

"""The order of the workloads, and what they are checked against; the clients write down their requests."""

import io

import pytest
from attrs import evolve
from rich.console import Console

from bookkeeper_tx.cli.bench import loopback
from bookkeeper_tx.cli.bench.cluster import given_cluster
from bookkeeper_tx.cli.bench.payloads import EQUAL
from bookkeeper_tx.cli.bench.series import (
    ADDS_ONE_AT_A_TIME,
    READS_BESIDE_ADDS,
    SINGLE_READS,
    WORKLOADS,
    BenchFailed,
    Series,
    SeriesRun,
)
from tests.cli.bench.test_measurement import RUN

SERIES = Series(entries=5000, payload_size=10, sizes=EQUAL, runs=1, clients=2, ledgers=3, ensemble=3, write_quorum=3)


class Clients:
    """Does nothing, right."""

    def __init__(self):
        self.asked = []
        self.lost_bytes = 0

    def ask(self, verb, **values):
        self.asked.append((verb, values))
        return [{"loop_us": "0.5"}, {"loop_us": "1.5"}]

    def measure(self, bookie_pids, verb, *, entries, **values):
        self.asked.append((verb, {"entries": entries, **values}))
        entries *= 2
        return evolve(RUN, entries=entries, size=entries * 10 - self.lost_bytes, latency_max_ms=1.0)


@pytest.fixture
def clients():
    return Clients()


@pytest.fixture
def run(clients, tmp_path, monkeypatch):
    monkeypatch.setattr(loopback, "fdatasync_p50_s", lambda directory: 300e-6)
    monkeypatch.setattr(loopback, "round_trip_p50_s", lambda size: 200e-6)

    def run(series):
        cluster = given_cluster("sqlite:///nowhere", (), tmp_path)
        measured = SeriesRun(series, cluster, clients, Console(file=io.StringIO()))
        measured.warm_up()
        for number in range(1, series.runs + 1):
            measured.run(number)
        return measured.figures

    return run


def test_every_workload_is_done_and_reported(run, clients):
    report = run(SERIES)
    assert [each["workload"] for each in report["workloads"]] == list(WORKLOADS)
    assert report["loop_cpu_us_per_entry"] == 1
    assert report["one_add"]["best_ratio"] == 2  # of 1 ms, 0.5 ms are unavoidable
    verbs = [verb for verb, _ in clients.asked]
    assert verbs == [
        "ready",
        *2
        * [
            *["create", "adds", "open", "range_of_single_reads", "single_reads", "batch_reads"],
            *["batch_reads", "batch_reads", "single_reads"],
            *["create", "bulk_adds", "reads_beside_adds", "adds", "close"],
        ],
    ]


def test_clients_share_the_entries_and_each_has_the_ledgers(run, clients):
    run(SERIES)
    assert ("create", {"ledgers": 3, "ensemble": 3, "write_quorum": 3, "ack_quorum": 1}) in clients.asked
    assert ("adds", {"entries": 2500, "window": 1000}) in clients.asked
    assert ("adds", {"entries": 250, "window": 1}) in clients.asked
    assert ("batch_reads", {"entries": 2500, "batch": 100, "window": 8}) in clients.asked


def test_the_table_that_batch_reads_were_proposed_with(run, clients):
    published = ("batches_of_100", "batches_of_500", "reads_one_at_a_time")
    report = run(evolve(SERIES, clients=2, workloads=published))
    assert [each["workload"] for each in report["workloads"]] == ["adds", *published]
    assert clients.asked[-4:-1] == [
        ("batch_reads", {"entries": 2500, "batch": 100, "window": 1}),
        ("batch_reads", {"entries": 2500, "batch": 500, "window": 1}),
        ("single_reads", {"entries": 250, "window": 1}),
    ]
    assert evolve(SERIES, write_quorum=2).chosen(*published) == ["reads_one_at_a_time"]


def test_few_ledgers_warm_up(run, clients):
    run(evolve(SERIES, ledgers=3000))
    assert [values["ledgers"] for verb, values in clients.asked if verb == "create"] == [100, 100, 3000, 3000]


@pytest.mark.parametrize(
    ("workload", "verbs"),
    [
        (SINGLE_READS, ["create", "adds", "open", "single_reads", "close"]),
        (READS_BESIDE_ADDS, ["create", "adds", "open", "create", "reads_beside_adds", "close"]),
        (ADDS_ONE_AT_A_TIME, ["create", "adds", "close"]),
    ],
)
def test_one_workload_takes_those_that_it_needs_along(run, clients, workload, verbs):
    report = run(evolve(SERIES, workloads=(workload,)))
    assert [verb for verb, _ in clients.asked] == ["ready", *verbs, *verbs]
    assert workload in [each["workload"] for each in report["workloads"]]


def test_ledgers_that_are_striped_have_no_batch_reads():
    assert SERIES.chosen("adds", "batch_reads") == ["adds", "batch_reads"]
    assert evolve(SERIES, write_quorum=2).chosen("adds", "batch_reads") == ["adds"]


def test_bytes_that_are_missing_are_an_error(run, clients):
    clients.lost_bytes = 1
    with pytest.raises(BenchFailed, match="adds moved 19999 payload bytes, 20000 were expected"):
        run(SERIES)


def test_the_title_says_what_is_measured():
    assert SERIES.title == "5,000 entries of 10 B (equal sizes), 2 clients of 3 ledgers, E=3 Qw=3 Qa=1, V2"
    assert (
        evolve(SERIES, clients=1, ledgers=1).title == "5,000 entries of 10 B (equal sizes), 1 ledger, E=3 Qw=3 Qa=1, V2"
    )

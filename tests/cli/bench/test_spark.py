"""The options of ``bktx bench spark``, and how its figures look; tests/integration/spark/test_bench.py runs it."""

import io

import pytest
from rich.console import Console

from bookkeeper_tx.cli.bench import spark, spark_report
from bookkeeper_tx.cli.bench.spark import Size
from bookkeeper_tx.cli.main import run_command


@pytest.fixture
def measured(monkeypatch):
    """The arguments of each measurement that was asked for; none is made."""
    calls = []

    def measure(size, planning_uri, directory, progress):
        calls.append((size, planning_uri))
        return report()

    monkeypatch.setattr(spark, "measure", measure)
    return calls


def figures(rows_per_s, worker):
    return {
        "rows_per_s": rows_per_s,
        "worker_cpu_us_per_row": worker,
        "jvm_cpu_us_per_row": 0.5,
        "bookie_cpu_us_per_row": 0.25,
        "planner_cpu_us_per_row": 0.125,
        "other_cores": 0.9,
    }


def report():
    planning = dict.fromkeys(("raw_s", "read_s", "listed_and_read_s", "load_s", "plan_s"), 2.0)
    return {
        "machine": {
            "python": "3.11",
            "system": "Linux",
            "cores": 2,
            "pyspark": "4.3.0",
            "pyarrow": "26.0",
            "numpy": "2.0",
        },
        "entries": 1_000_000,
        "payload_size": 100,
        "runs": 1,
        "sink_rows": 200_000,
        "fill_without_spark": {
            "entries_per_s": 345_678.0,
            "client_cpu_us_per_entry": 1.25,
            "bookie_cpu_us_per_entry": 1.5,
        },
        "workloads": [
            {"workload": "read_batch", "median": figures(1_234_567.8, 1.21), "runs": [figures(1_234_567.8, 1.21)]}
        ],
        "single_to_batch": {"rows_per_s": 0.51, "bookie_cpu_us_per_row": 4.2, "worker_cpu_us_per_row": 2.0},
        "worker_memory": {"entries_of_part": 100_000, "after_part_bytes": 2**27, "after_all_bytes": 2**28},
        "planning": {
            "ledgers": 1000,
            "store": "SQLite",
            "median": {**planning, "read_ratio": 1.1, "listed_and_read_ratio": 1.3, "planned_ratio": 1.875},
        },
    }


def test_a_bench_without_a_name_is_the_one_of_adds_and_reads(capsys):
    assert run_command(["bench", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "single reads and batch reads" in shown
    assert "spark" in shown


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), Size(10_000_000, 100, 3, 100_000)),
        (("--quick",), Size(100_000, 100, 1, 2_000)),
        (("--quick", "--entries", "5000", "--ledgers", "7"), Size(5000, 100, 1, 7)),
        (("--size", "1024", "--runs", "5"), Size(10_000_000, 1024, 5, 100_000)),
    ],
)
def test_sizes_are_those_of_the_options(measured, options, expected):
    assert run_command(["bench", "spark", "--json", *options]) == 0
    assert measured == [(expected, None)]


def test_an_option_before_the_name_is_wrong_usage(measured, capsys):
    assert run_command(["bench", "--quick", "spark"]) == 2
    assert "--quick stands before 'spark'" in capsys.readouterr().err
    assert measured == []


def test_the_metadata_of_the_other_bench_in_the_environment_changes_nothing(measured, monkeypatch):
    monkeypatch.setenv("BKTX_METADATA", "sqlite:///somewhere.db")
    assert run_command(["bench", "spark", "--quick", "--json"]) == 0
    assert measured == [(Size(100_000, 100, 1, 2_000), None)]


def test_a_directory_that_is_not_empty_is_refused(measured, tmp_path, capsys):
    (tmp_path / "file").touch()
    assert run_command(["bench", "spark", "--directory", str(tmp_path)]) == 1
    assert "not empty" in capsys.readouterr().err
    assert measured == []


def test_without_spark_it_says_what_to_install(measured, monkeypatch, capsys):
    monkeypatch.setattr(spark, "find_spec", lambda name: None if name == "pyarrow" else object())
    assert run_command(["bench", "spark"]) == 2
    assert "pip install 'bookkeeper_tx[spark]'" in capsys.readouterr().err


def test_what_is_stored_is_the_ledger_and_every_run_of_the_sink():
    assert Size(1000, 100, 3, 1).stored_bytes == (1000 + 4 * 200) * 140


def test_the_table_has_every_figure():
    console = Console(file=io.StringIO(), width=120)
    spark_report.show(report(), console)
    shown = console.file.getvalue()
    for figure in ("1,234,568", "1.21", "345,678", "0.51 times", "4.2 times", "128 MiB", "256 MiB", "1.30", "2,000.0"):
        assert figure in shown
    assert "0.9 cores busy" in shown

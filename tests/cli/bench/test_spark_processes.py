"""The kinds of processes of a Spark session, and their CPU."""

import os

import pytest

from bookkeeper_tx.cli.bench import process_cpu, spark_processes
from bookkeeper_tx.cli.bench.spark_processes import NoSparkHere, SparkProcesses, SparkRun, SparkStopwatch, median_of

DRIVER = 7
JVM = 20
DAEMON = 30
WORKER = 31
PLANNER = 40
BOOKIE = 50


class Proc:
    """A made-up ``/proc``, in which this very process is the driver."""

    def __init__(self, path, monkeypatch):
        self.path = path
        monkeypatch.setattr(process_cpu, "PROC", path)
        monkeypatch.setattr(os, "getpid", lambda: DRIVER)
        (path / "stat").write_text("cpu  0 0 0 0 0 0 0 0 0 0\n")

    def add(self, pid, parent, *command, cpu_ns=0, peak_kb=0):
        """Make a process, or change its usage."""
        (self.path / str(pid) / "task" / str(pid)).mkdir(parents=True, exist_ok=True)
        (self.path / str(pid) / "cmdline").write_bytes("".join(each + "\0" for each in command).encode())
        ticks = cpu_ns * os.sysconf("SC_CLK_TCK") // 1_000_000_000
        (self.path / str(pid) / "stat").write_text(f"{pid} (a (b) c) S {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0\n")
        (self.path / str(pid) / "task" / str(pid) / "schedstat").write_text(f"{cpu_ns} 1 1\n")
        (self.path / str(pid) / "status").write_text(f"VmHWM:\t{peak_kb} kB\nVmRSS:\t1 kB\n")
        (self.path / str(pid) / "io").write_text("write_bytes: 0\n")


@pytest.fixture
def proc(tmp_path, monkeypatch):
    proc = Proc(tmp_path, monkeypatch)
    proc.add(DRIVER, 1, "python", "bktx")
    proc.add(JVM, DRIVER, "/opt/jdk/bin/java", "-cp", "x")
    proc.add(DAEMON, JVM, "python", "-m", "pyspark.daemon", "pyspark.worker", peak_kb=70)
    proc.add(WORKER, DAEMON, "python", "-m", "pyspark.daemon", "pyspark.worker", peak_kb=90)
    proc.add(PLANNER, JVM, "python", "-m", "pyspark.daemon", "pyspark.sql.worker.plan_data_source_read", peak_kb=200)
    proc.add(BOOKIE, DRIVER, "python", "-c", "bookie")
    return proc


def test_workers_and_planners_are_told_apart_by_the_module_they_run(proc):
    assert spark_processes.find_spark(DRIVER) == SparkProcesses(JVM, (DAEMON, WORKER), (PLANNER,))


def test_no_jvm_of_ours_is_an_error_that_says_what_to_do(proc):
    with pytest.raises(NoSparkHere, match="local"):
        spark_processes.find_spark(BOOKIE)


def test_each_kind_of_process_counts_for_itself(proc):
    watch = SparkStopwatch([BOOKIE])
    proc.add(WORKER, DAEMON, "python", "-m", "pyspark.daemon", "pyspark.worker", cpu_ns=3_000_000)
    proc.add(PLANNER, JVM, "python", "-m", "pyspark.daemon", "pyspark.sql.worker.plan", cpu_ns=5_000_000)
    proc.add(JVM, DRIVER, "java", cpu_ns=40_000_000)
    proc.add(BOOKIE, DRIVER, "python", "-c", "bookie", cpu_ns=2_000_000)
    run = watch.stop(1000)
    assert run.rows == 1000
    assert run.worker_cpu_us == 3
    assert run.planner_cpu_us == 5
    assert run.jvm_cpu_us == 40
    assert run.bookie_cpu_us == 2
    assert run.other_cores == 0


def test_a_worker_that_is_new_counts_from_its_start(proc):
    watch = SparkStopwatch([BOOKIE])
    proc.add(32, DAEMON, "python", "-m", "pyspark.daemon", "pyspark.worker", cpu_ns=6_000_000)
    assert watch.stop(1000).worker_cpu_us == 6


def test_the_peak_is_that_of_workers_only(proc):
    assert spark_processes.peak_memory_of_workers() == 90 * 1024


def test_medians_are_taken_figure_by_figure():
    runs = [
        SparkRun(
            rows=100,
            seconds=seconds,
            worker_cpu_us=worker,
            planner_cpu_us=0,
            jvm_cpu_us=1,
            bookie_cpu_us=2,
            other_cores=0,
        )
        for seconds, worker in ((1, 9), (2, 7), (4, 8))
    ]
    assert median_of(runs)["rows_per_s"] == 50
    assert median_of(runs)["worker_cpu_us_per_row"] == 8

"""The processes of a Spark session on this machine, and the CPU that each kind of them uses."""

import os
import time
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, Final

from attrs import frozen

from bookkeeper_tx.cli.bench import process_cpu
from bookkeeper_tx.errors import BookKeeperError

WORKER_MODULE: Final = "pyspark.worker"
"""The module whose processes run tasks; other Python processes of Spark plan and commit."""

NANOSECONDS_PER_MICROSECOND = 1000


class NoSparkHere(BookKeeperError):
    """The Spark session has no JVM that this process has started."""


@frozen
class SparkProcesses:
    """Processes by what they do."""

    jvm: int
    workers: tuple[int, ...]
    """Python, runs tasks; the daemon that forks them among them."""
    planners: tuple[int, ...]
    """Python, plans reads and commits writes."""


def find_spark(driver: int) -> SparkProcesses:
    """Return the processes that the session of process ``driver`` has now.  Raises NoSparkHere."""
    for pid in process_cpu.descendants(driver):
        if _program_of(pid) == "java":
            pythons = {each: _spark_module_of(each) for each in process_cpu.descendants(pid)}
            return SparkProcesses(
                pid,
                tuple(each for each, module in pythons.items() if module == WORKER_MODULE),
                tuple(each for each, module in pythons.items() if module not in (WORKER_MODULE, "")),
            )
    raise NoSparkHere("this process has started no JVM for a Spark session: measure where the session is local")


def _program_of(pid: int) -> str:
    return os.path.basename(next(iter(_command_of(pid)), ""))


def _spark_module_of(pid: int) -> str:
    """Return the module of Spark that a Python process runs: ``python -m pyspark.daemon MODULE`` runs MODULE."""
    return next((each for each in reversed(_command_of(pid)) if each.startswith("pyspark.")), "")


def _command_of(pid: int) -> list[str]:
    try:
        return process_cpu.command_of(pid)
    except (FileNotFoundError, ProcessLookupError):
        return []  # ended while we looked


@frozen
class SparkRun:
    """The figures of one run of one workload."""

    rows: int
    seconds: float
    worker_cpu_us: float
    """CPU of the Python workers per row, microseconds; so are the others."""
    planner_cpu_us: float
    jvm_cpu_us: float
    bookie_cpu_us: float
    other_cores: float
    """Cores that processes which are not ours kept busy: above 0.3 the rates say little."""

    @property
    def rows_per_s(self) -> float:
        return self.rows / self.seconds

    def as_dictionary(self) -> dict[str, Any]:
        """Return the figures under their names in JSON."""
        return {
            "rows": self.rows,
            "seconds": round(self.seconds, 4),
            "rows_per_s": round(self.rows_per_s, 1),
            "worker_cpu_us_per_row": round(self.worker_cpu_us, 4),
            "planner_cpu_us_per_row": round(self.planner_cpu_us, 4),
            "jvm_cpu_us_per_row": round(self.jvm_cpu_us, 4),
            "bookie_cpu_us_per_row": round(self.bookie_cpu_us, 4),
            "other_cores": round(self.other_cores, 3),
        }


def median_of(runs: Sequence[SparkRun]) -> dict[str, float]:
    """Return the median of each figure over all runs."""
    rows = [run.as_dictionary() for run in runs]
    return {name: round(median(row[name] for row in rows), 4) for name in rows[0]}


@frozen
class _Used:
    """CPU since each process started, nanoseconds."""

    machine: int
    driver: int
    jvm: int
    bookies: int
    workers: dict[int, int]
    planners: dict[int, int]


class SparkStopwatch:
    """Measures the CPU of Spark, the bookies and the machine from now on.

    Python processes that are started meanwhile count from their start.  The CPU of a process that ends meanwhile is not
    counted; Spark ends those that were idle for a minute.
    """

    def __init__(self, bookie_pids: Sequence[int]) -> None:
        self._bookie_pids = bookie_pids
        self._before = self._now()
        self._started = time.perf_counter()

    def stop(self, rows: int) -> SparkRun:
        """Return the figures since the start, for ``rows`` rows."""
        seconds = time.perf_counter() - self._started
        before, now = self._before, self._now()
        workers, planners = _since(before.workers, now.workers), _since(before.planners, now.planners)
        jvm, bookies = now.jvm - before.jvm, now.bookies - before.bookies
        ours = workers + planners + jvm + bookies + now.driver - before.driver
        per_row = rows * NANOSECONDS_PER_MICROSECOND
        return SparkRun(
            rows=rows,
            seconds=seconds,
            worker_cpu_us=workers / per_row,
            planner_cpu_us=planners / per_row,
            jvm_cpu_us=jvm / per_row,
            bookie_cpu_us=bookies / per_row,
            other_cores=max(0.0, (now.machine - before.machine - ours) / 1e9 / seconds),
        )

    def _now(self) -> _Used:
        driver = os.getpid()
        spark = find_spark(driver)
        return _Used(
            machine=process_cpu.machine_busy_ns(),
            driver=process_cpu.cpu_ns(driver),
            jvm=process_cpu.cpu_ns_with_ended_threads(spark.jvm),
            bookies=sum(map(process_cpu.cpu_ns, self._bookie_pids)),
            workers=_cpu_of_each(spark.workers),
            planners=_cpu_of_each(spark.planners),
        )


def peak_memory_of_workers() -> int:
    """Return the most memory, in bytes, that any Python worker that runs has ever used (VmHWM)."""
    peaks = [0]
    for pid in find_spark(os.getpid()).workers:
        try:
            peaks.append(process_cpu.usage(pid).resident_bytes_max)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return max(peaks)


def _cpu_of_each(pids: Iterable[int]) -> dict[int, int]:
    found = {}
    for pid in pids:
        try:
            found[pid] = process_cpu.cpu_ns(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def _since(before: dict[int, int], now: dict[int, int]) -> int:
    return sum(used - before.get(pid, 0) for pid, used in now.items())

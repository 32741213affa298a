"""A standalone Spark cluster on loopback addresses: a master and a worker process on each of several hosts."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

import pyspark

from tests.integration.spark_session import ROOT

START_TIMEOUT_S = 120.0


class StandaloneCluster:
    """Each worker has one core, and its own address from 127.0.0.2 on.  A context manager."""

    def __init__(self, directory: Path, workers: int = 2) -> None:
        self._directory = directory
        self._workers = workers
        self._processes: list[subprocess.Popen[bytes]] = []
        self.master = ""

    def __enter__(self) -> "StandaloneCluster":
        try:
            log = self._start("master", "master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
            self.master = _wait(log, "Starting Spark master at ").split()[0]
            for index in range(self._workers):
                host = f"127.0.0.{index + 2}"
                sizes = ("--cores", "1", "--memory", "1g", "--work-dir", str(self._directory / host))
                place = ("--host", host, "--port", "0", "--webui-port", "0")
                _wait(self._start(host, "worker.Worker", *place, *sizes, self.master), "Successfully registered")
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop()

    def _start(self, name: str, kind: str, *arguments: str) -> Path:
        log = self._directory / f"{name}.log"
        command = [str(Path(pyspark.__file__).parent / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}"]
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_DAEMON_MEMORY": "256m",
        }
        with log.open("wb") as output:
            # A group of its own: the executors that it starts go with it.
            process = subprocess.Popen(
                [*command, *arguments], stdout=output, stderr=output, env=environment, start_new_session=True
            )
        self._processes.append(process)
        return log

    def _stop(self) -> None:
        for process in reversed(self._processes):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait(log: Path, text: str) -> str:
    """Return what follows ``text`` in the log, once it is there."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        before, found, after = log.read_text(errors="replace").partition(text)
        if found and "\n" in after:
            return after.partition("\n")[0]
        time.sleep(0.1)
    raise TimeoutError(f"no {text!r} in {log}:\n{before[-3000:]}")

"""A Spark driver in a process of its own, which runs scenarios by name: both ends of the pipe to it.

A process can have one session of its own, or be a client of Spark Connect, for all its life; so whoever wants another
kind than the fixture ``spark`` needs another process.
"""

import json
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from attrs import asdict

from tests.integration.spark_job_scenarios import JOBS
from tests.integration.spark_scenarios import FORMATS, Site
from tests.integration.spark_session import ROOT

SCENARIOS: Final = {each.__name__: each for each in (*FORMATS, *JOBS)}

SETTINGS: Final = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "600m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    # Nothing begins before all executors are there: tests look at who did what.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.locality.wait": "0s",
}

STOP_TIMEOUT_S: Final = 60.0


class Driver:
    """The process, from outside; a context manager.  Either ``master`` or ``remote`` says where Spark is."""

    def __init__(
        self,
        directory: Path,
        site: Site,
        *,
        master: str = "",
        remote: str = "",
        settings: Mapping[str, str] | None = None,
        **variables: str,
    ) -> None:
        self._directory = directory
        self._log = directory / "driver.log"
        self._variables = variables
        self._asked = {
            "directory": str(directory),
            "site": asdict(site),
            "master": master,
            "remote": remote,
            "settings": dict(settings or {}),
        }

    def __enter__(self) -> "Driver":
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.integration.spark_driver"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._directory,
                env=environment() | self._variables,
                start_new_session=True,
            )
        try:
            self._ask(json.dumps(self._asked))
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop()

    def run(self, scenario: str) -> None:
        """Run a scenario in its session; raises AssertionError with what it says if it fails."""
        self._ask(scenario)

    def _ask(self, line: str) -> None:
        to_driver, from_driver = self._process.stdin, self._process.stdout
        assert to_driver is not None
        assert from_driver is not None
        to_driver.write(line.encode() + b"\n")
        to_driver.flush()
        answer = json.loads(from_driver.readline() or '{"error": "the driver has ended"}')
        if answer["error"]:
            raise AssertionError(f"{answer['error']}\n{self._log.read_text(errors='replace')[-3000:]}")

    def _stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self._process.wait()


def environment() -> dict[str, str]:
    """Return an environment for Spark's processes, without what another session has left in ours."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_", "BKTX_"))}
    return kept | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}


def spark_home(directory: Path) -> Path:
    """Return a SPARK_HOME whose directory ``work`` is a test's own: the executors of ``local-cluster`` live there."""
    import pyspark

    directory.mkdir()
    for each in Path(pyspark.__file__).parent.iterdir():
        if each.name != "work":
            (directory / each.name).symlink_to(each)
    return directory


# In the process ------------------------------------------------------------------------------------------------------


def start_session(asked: Mapping[str, Any]) -> Any:
    """Return the session that is asked for; nobody has told it of our formats."""
    from pyspark.sql import SparkSession

    from bookkeeper_tx.spark.session import LOCAL_SETTINGS, local_session

    if not asked["remote"]:
        return local_session("scenarios", master=asked["master"], settings=asked["settings"])
    builder = SparkSession.builder.remote(asked["remote"])
    # A server of its own is told all of it, one that runs already what it lets its clients change.
    own = LOCAL_SETTINGS if asked["remote"].startswith("local") else {}
    for key, value in {**own, **asked["settings"]}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def main() -> None:
    # What anybody prints goes to the log; answers go to where standard output was.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        asked = json.loads(sys.stdin.readline())
        spark = None
        site, directory = Site(**asked["site"]), Path(asked["directory"])
        for name in chain([""], map(str.strip, sys.stdin)):
            error = ""
            try:
                if name:
                    (directory / name).mkdir()
                    SCENARIOS[name](spark, site, directory / name)
                else:
                    spark = start_session(asked)
            except Exception:
                error = traceback.format_exc()
            print(json.dumps({"error": error}), file=answers, flush=True)
        if spark is not None:
            spark.stop()


if __name__ == "__main__":
    main()

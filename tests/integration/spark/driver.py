"""A Spark driver in a process of its own, which runs scenarios by name: both ends of the pipe to it.

A process can have one session of its own, or be a client of Spark Connect, for all its life; so whoever wants another
kind than the fixture ``spark`` needs another process.
"""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final

from attrs import asdict

from tests.integration.spark.job_scenarios import JOBS
from tests.integration.spark.process import spark_process
from tests.integration.spark.scenarios import FORMATS, Site

SCENARIOS: Final = {each.__name__: each for each in (*FORMATS, *JOBS)}

SETTINGS: Final = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "600m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    # Nothing begins before all executors have started: tests check which executor ran each task.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.locality.wait": "0s",
}

STOP_TIMEOUT_S: Final = 60.0


class Driver:
    """The process, from outside."""

    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._asked, self._answers = process.stdin, process.stdout
        self._log = log

    def run(self, scenario: str) -> None:
        """Run a scenario in its session; raises AssertionError with its text if it fails."""
        self.ask(scenario)

    def ask(self, line: str) -> None:
        """Send a line, and wait until its request is done."""
        self._asked.write(line.encode() + b"\n")
        self._asked.flush()
        answer = json.loads(self._answers.readline() or '{"error": "the driver has ended"}')
        if answer["error"]:
            raise AssertionError(f"{answer['error']}\n{self._log.read_text(errors='replace')[-3000:]}")

    def end(self) -> None:
        """Ask the driver to stop its session."""
        self._asked.close()


@contextmanager
def spark_driver(
    directory: Path,
    site: Site,
    *,
    master: str = "",
    remote: str = "",
    settings: Mapping[str, str] | None = None,
    **variables: str,
) -> Iterator[Driver]:
    """Give a driver with a session; either ``master`` or ``remote`` says where Spark is."""
    asked = {"directory": str(directory), "site": asdict(site), "master": master, "remote": remote}
    log = directory / "driver.log"
    command = [sys.executable, "-m", "tests.integration.spark.driver"]
    with spark_process(command, log, variables, answers=True) as process:
        driver = Driver(process, log)
        driver.ask(json.dumps(asked | {"settings": dict(settings or {})}))
        try:
            yield driver
        finally:
            driver.end()
            with suppress(subprocess.TimeoutExpired):  # then it is killed
                process.wait(STOP_TIMEOUT_S)


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
    """Return the session that is asked for; our formats are not registered in it."""
    from pyspark.sql import SparkSession

    from bookkeeper_tx.spark.session import LOCAL_SETTINGS, local_session

    if not asked["remote"]:
        return local_session("scenarios", master=asked["master"], settings=asked["settings"])
    builder = SparkSession.builder.remote(asked["remote"])
    # A server that this starts gets all settings; one that runs already gets those that its clients can change.
    own = LOCAL_SETTINGS if asked["remote"].startswith("local") else {}
    for key, value in {**own, **asked["settings"]}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def main() -> None:
    # All printed text goes to the log; answers go to the former standard output.
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

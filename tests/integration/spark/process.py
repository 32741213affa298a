"""Processes of Spark, each in a group of its own, so that its executors and Python workers end with it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.integration.spark.spark_session import ROOT

START_TIMEOUT_S: Final = 120.0


@contextmanager
def spark_process(
    command: Sequence[str | Path], log: Path, variables: Mapping[str, str] | None = None, *, answers: bool = False
) -> "Iterator[subprocess.Popen[bytes]]":
    """Start a process beside its log, and kill its group at the end.  With ``answers`` its output is a pipe."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if answers else output,
            stderr=output,
            cwd=log.parent,
            env=environment() | dict(variables or {}),
            start_new_session=True,
        )
    with process:
        try:
            yield process
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def environment() -> dict[str, str]:
    """Return an environment for Spark's processes, without the variables that another session has set in ours."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_", "BKTX_"))}
    return kept | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}


def wait_for_line(pattern: str, log: Path, process: "subprocess.Popen[bytes]") -> str:
    """Return the first group of ``pattern``, in a whole line, once the log of a process has it."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(f"{pattern}.*\n", log.read_text(errors="replace"))
        if found:
            return found[1]
        time.sleep(0.1)
    raise TimeoutError(f"no {pattern!r} in {log}:\n{log.read_text(errors='replace')[-3000:]}")

"""A Spark Connect server in processes of its own, as ``start-connect-server.sh`` starts it."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final

import pyspark

from bookkeeper_tx.spark.session import LOCAL_SETTINGS
from tests.integration.spark_driver import environment

START_TIMEOUT_S: Final = 120.0
MAIN: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"
_STARTED: Final = re.compile(r"Spark Connect server started at: \S*?:(\d+)\s")


class ConnectServer:
    """Runs two tasks at a time, in one process; a context manager."""

    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        self._directory = directory
        self._settings = {
            **LOCAL_SETTINGS,
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": "0",
            **(settings or {}),
        }
        self.url = ""

    def __enter__(self) -> "ConnectServer":
        submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
        conf = [word for pair in self._settings.items() for word in ("--conf", "=".join(pair))]
        log = self._directory / "server.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [str(submit), "--master", "local[2,3]", *conf, "--class", MAIN, "spark-internal"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._directory,
                env=environment(),
                start_new_session=True,
            )
        try:
            self.url = f"sc://127.0.0.1:{self._port(log)}"
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop()

    def _port(self, log: Path) -> int:
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline and self._process.poll() is None:
            found = _STARTED.search(log.read_text(errors="replace"))
            if found:
                return int(found[1])
            time.sleep(0.1)
        raise TimeoutError(f"the server has not started:\n{log.read_text(errors='replace')[-3000:]}")

    def _stop(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()

"""A standalone Spark cluster on loopback addresses: a master and a worker process on each of several hosts."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pyspark

from tests.integration.spark.process import spark_process, wait_for_line

_ANY_PORTS: Final = ("--port", "0", "--webui-port", "0")


@contextmanager
def standalone_cluster(directory: Path, workers: int = 2) -> Iterator[str]:
    """Give the URL of the master.  Each worker has one core, and its own address from 127.0.0.2 on."""
    with ExitStack() as stack:

        def start(name: str, kind: str, pattern: str, *arguments: str) -> str:
            log = directory / f"{name}.log"
            command = [Path(pyspark.__file__).parent / "bin" / "spark-class", f"org.apache.spark.deploy.{kind}"]
            process = stack.enter_context(
                spark_process([*command, *_ANY_PORTS, *arguments], log, {"SPARK_DAEMON_MEMORY": "256m"})
            )
            return wait_for_line(pattern, log, process)

        master = start("master", "master.Master", r"Starting Spark master at (\S+)", "--host", "127.0.0.1")
        for index in range(workers):
            host = f"127.0.0.{index + 2}"
            sizes = ("--cores", "1", "--memory", "1g", "--work-dir", str(directory / host))
            start(host, "worker.Worker", "(Successfully) registered", "--host", host, *sizes, master)
        yield master

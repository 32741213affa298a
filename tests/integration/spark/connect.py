"""A Spark Connect server in processes of its own, as ``start-connect-server.sh`` starts it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyspark

from bookkeeper_tx.spark.session import LOCAL_SETTINGS
from tests.integration.spark.process import spark_process, wait_for_line

MAIN: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"

_SETTINGS: Final = {
    **LOCAL_SETTINGS,
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
}


@contextmanager
def connect_server(directory: Path, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """Give the URL of a server that runs two tasks at a time, in one process."""
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    pairs = _SETTINGS | dict(settings or {})
    conf = [word for pair in pairs.items() for word in ("--conf", "=".join(pair))]
    command = [submit, "--master", "local[2,3]", *conf, "--class", MAIN, "spark-internal"]
    log = directory / "server.log"
    with spark_process(command, log) as process:
        port = wait_for_line(r"Spark Connect server started at: \S*?:(\d+)", log, process)
        yield f"sc://127.0.0.1:{port}"

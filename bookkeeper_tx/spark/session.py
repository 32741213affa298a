"""Sessions: the formats registered by hand, and the settings of a session on this machine."""

import os
import sys
from collections.abc import Mapping
from typing import Any

RECOMMENDED_SETTINGS = {"spark.python.unix.domain.socket.enabled": "true"}
"""Settings that make any session read faster: JVM and Python do not wait on TCP for each other."""

LOCAL_SETTINGS = {
    **RECOMMENDED_SETTINGS,
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
}
"""Settings of a session that is all on this machine.  Filters go only to a DataFrame loaded with ``pushdown=true``."""


def register_all(spark: Any) -> None:
    """Register format ``bookkeeper`` in a session, and each of its tables as a format, such as ``bookkeeper-replicas``.

    Format ``bookkeeper`` needs it only where Spark does not find it by itself: with ``--py-files``, and in packages
    below another directory.  The tables always need it.
    """
    from bookkeeper_tx.spark.tables import TABLES, BookKeeperSource, table_class

    for source in (BookKeeperSource, *map(table_class, TABLES)):
        spark.dataSource.register(source)


def local_session(
    name: str = "bookkeeper_tx", *, master: str = "local[2,3]", settings: Mapping[str, str] | None = None
) -> Any:
    """Return a SparkSession on this machine whose workers run this very interpreter.

    ``settings`` come on top of :data:`LOCAL_SETTINGS`.  If the process has a session already, that one is returned, and
    settings that only a new JVM takes have no effect.  ``master`` says two tasks at a time, each tried three times.
    """
    from pyspark.sql import SparkSession

    use_this_interpreter()
    builder = SparkSession.builder.master(master).appName(name)
    for key, value in {**LOCAL_SETTINGS, **(settings or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def use_this_interpreter() -> None:
    """Have Spark start this interpreter for driver and workers: it must be called before the JVM is started."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

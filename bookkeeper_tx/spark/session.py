"""Sessions: the formats registered by hand, and the settings of a session on this machine."""

import os
import sys
from collections.abc import Mapping
from typing import Any

RECOMMENDED_SETTINGS = {"spark.python.unix.domain.socket.enabled": "true"}
"""What makes any session read faster: no waits on TCP between JVM and Python."""

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
"""Settings of a session that is all on this machine.  Filters go only to what was loaded with ``pushdown=true``."""


def register_all(spark: Any) -> None:
    """Make format ``bookkeeper`` known to a session, and each of its tables as a format, as ``bookkeeper-replicas``.

    The first is needed where Spark does not find it by itself: with ``--py-files``, and in packages below another
    directory.  The others have no other way.
    """
    from bookkeeper_tx.spark.tables import TABLES, BookKeeperSource, table_class

    for source in (BookKeeperSource, *map(table_class, TABLES)):
        spark.dataSource.register(source)


def local_session(
    name: str = "bookkeeper_tx", *, master: str = "local[2,3]", settings: Mapping[str, str] | None = None
) -> Any:
    """Return a SparkSession on this machine whose workers run this very interpreter.

    ``settings`` come on top of :data:`LOCAL_SETTINGS`.  If the process has a session already, that one is returned, and
    what only a new JVM can be told has no effect.  ``master`` says two tasks at a time, each tried three times.
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

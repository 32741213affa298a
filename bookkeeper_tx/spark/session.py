"""Sessions: the formats registered by hand, and the settings of a session on this machine."""

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

SOURCES = {
    "bookkeeper": "source.LedgerSource",
    "bookkeeper-ledgers": "cluster.ledgers_table.LedgersTable",
    "bookkeeper-bookies": "cluster.bookies_table.BookiesTable",
    "bookkeeper-replicas": "replicas.table.ReplicasTable",
    "bookkeeper-entrylog": "entrylog.table.EntryLogTable",
}
"""Each format, and the module and class of this room that it is."""

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
    """Make the formats known to a session.

    It is needed where Spark does not find them by itself: with ``--py-files``, and in packages below another directory.
    """
    for where in SOURCES.values():
        module, _, name = where.rpartition(".")
        spark.dataSource.register(getattr(import_module(f"bookkeeper_tx.spark.{module}"), name))


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

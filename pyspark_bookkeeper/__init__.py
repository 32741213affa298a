"""Where Spark looks for its format ``bookkeeper`` (docs/guides/spark.md).

At the first Python data source of a session, of any format, Spark imports every module whose name begins with
``pyspark_``.  If one of them cannot be imported, Spark finds no format of any.
"""

from bookkeeper_tx.spark.tables import BookKeeperSource as DefaultSource

__all__ = ["DefaultSource"]

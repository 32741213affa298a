"""Where Spark looks for its format ``bookkeeper`` (docs/guides/spark.md).

Spark imports every module whose name begins with ``pyspark_`` at the first Python data source of each session, of
whatever format, and one that cannot be imported ends the look-up for all.
"""

from bookkeeper_tx.spark.tables import BookKeeperSource as DefaultSource

__all__ = ["DefaultSource"]

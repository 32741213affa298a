"""Where Spark looks for its format ``bookkeeper-bookies``: the bookies of a cluster (docs/guides/spark.md)."""

from bookkeeper_tx.spark.cluster.bookies_table import BookiesTable as DefaultSource

__all__ = ["DefaultSource"]

"""Where Spark looks for its format ``bookkeeper-entrylog``: entry logs as files (docs/guides/spark.md)."""

from bookkeeper_tx.spark.entrylog.table import EntryLogTable as DefaultSource

__all__ = ["DefaultSource"]

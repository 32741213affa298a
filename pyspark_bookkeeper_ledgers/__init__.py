"""Where Spark looks for its format ``bookkeeper-ledgers``: the metadata of ledgers (docs/guides/spark.md)."""

from bookkeeper_tx.spark.cluster.ledgers_table import LedgersTable as DefaultSource

__all__ = ["DefaultSource"]

"""Where Spark looks for its format ``bookkeeper-replicas``: each copy of each entry (docs/guides/spark.md)."""

from bookkeeper_tx.spark.replicas.table import ReplicasTable as DefaultSource

__all__ = ["DefaultSource"]

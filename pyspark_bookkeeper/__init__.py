"""Where Spark looks for its format ``bookkeeper``: the entries of ledgers (docs/guides/spark.md)."""

from bookkeeper_tx.spark.source import LedgerSource as DefaultSource

__all__ = ["DefaultSource"]

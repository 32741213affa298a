"""The metrics of a bookie under Java's names (docs/guides/bookie-metrics.md)."""

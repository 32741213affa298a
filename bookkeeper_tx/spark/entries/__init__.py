"""The table of entries: entries of a partition read as Arrow columns."""

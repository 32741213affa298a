"""The connections of a task to its bookies, at what rate it asks them, and what it asks besides entries; no Spark."""

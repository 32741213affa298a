"""DataFrames as ledgers: tasks write, the driver commits, a sweep deletes the leftovers."""

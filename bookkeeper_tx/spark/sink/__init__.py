"""DataFrames as ledgers: tasks write, the driver commits, a sweep removes what was left behind."""

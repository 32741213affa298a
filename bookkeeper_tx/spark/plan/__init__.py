"""The plan of a query: ledgers chosen by metadata, ranges of entries cut into partitions."""

"""What a query reads: ledgers chosen by metadata, ranges of entries cut into partitions."""

"""The bookie role: the cases, one file an operation."""

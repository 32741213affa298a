"""The requests of a client as values, one file an operation; adds and single reads have a faster way of their own."""

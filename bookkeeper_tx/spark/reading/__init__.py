"""Reading ranges of ledgers: runs of verified entries, by loops of its own over blocking sockets; no Spark."""

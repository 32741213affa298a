"""Writing ledgers in bulk to whole write quorums, by loops of its own over blocking sockets; no Spark."""

"""For other people's tests: a cluster of processes, and a driver for the conformance suite."""

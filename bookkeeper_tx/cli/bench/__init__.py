"""``bktx bench``: rates, latencies and CPU per entry."""

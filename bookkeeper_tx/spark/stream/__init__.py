"""Ledgers as streams: offsets, the end of what may be read, micro-batches."""

"""Ledgers as streams: offsets, the ends of ledgers, micro-batches."""

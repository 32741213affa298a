"""Metadata records as every BookKeeper client and bookie of a cluster shares them."""

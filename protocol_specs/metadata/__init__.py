"""Metadata records, which all BookKeeper clients and bookies of a cluster share."""

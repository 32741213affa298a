"""Declarations of an entry: its metadata in two formats, its digests."""

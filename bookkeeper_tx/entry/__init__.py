"""Entries: their formats, runs and lists, sealed and verified."""

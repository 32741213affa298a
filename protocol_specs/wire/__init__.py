"""Declarations of what travels: frames, V2, V3, operations, status codes, lists of entries."""

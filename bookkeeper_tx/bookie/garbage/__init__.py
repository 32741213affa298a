"""Garbage collection and compaction: what nobody needs any more leaves the disk."""

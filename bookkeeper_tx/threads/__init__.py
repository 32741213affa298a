"""Threads for work that blocks."""

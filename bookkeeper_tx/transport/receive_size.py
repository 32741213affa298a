"""How much is asked of a connection at once, whoever drives it."""

RECEIVE_SIZE = 256 * 1024
"""Bytes asked of the socket at once; several frames in one system call make runs."""

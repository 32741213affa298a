"""How many bytes are read from a connection at once, with and without a reactor."""

RECEIVE_SIZE = 256 * 1024
"""Bytes asked of the socket at once; several frames in one system call make runs."""

RECEIVE_SIZE_MIN = 16 * 1024
"""Fewer are not asked for, however many connections there are."""

RECEIVED_BYTES_MAX = 64 * 1024 * 1024
"""Bytes that all connections of a bookie may bring at once; of many connections, each is asked for less.

This bounds the requests that wait because the one before them waits for a ledger, or because the disks are slow: until
they are served, nothing more is read from their connection.  No budget counts them, so that no client's requests wait
because another's do."""

RECEIVED_MEMORY_FACTOR = 8
"""The smallest requests take so many times their bytes in memory, at most: 5 or 6, and with a context 8."""


def receive_size(connections: int) -> int:
    """Return how much is asked of each of so many connections."""
    return max(min(RECEIVE_SIZE, RECEIVED_BYTES_MAX // max(connections, 1)), RECEIVE_SIZE_MIN)

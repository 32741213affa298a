"""How many bytes are read from a connection at once, with and without a reactor."""

RECEIVE_SIZE = 256 * 1024
"""Bytes asked of the socket at once; several frames in one system call make runs."""

RECEIVE_SIZE_MIN = 16 * 1024
"""Fewer are not asked for, however many connections there are."""

RECEIVED_BYTES_MAX = 64 * 1024 * 1024
"""Bytes that all connections of a bookie may bring at once; of many connections, each is asked for less."""


def receive_size(connections: int) -> int:
    """Return how much is asked of each of so many connections."""
    return max(min(RECEIVE_SIZE, RECEIVED_BYTES_MAX // max(connections, 1)), RECEIVE_SIZE_MIN)

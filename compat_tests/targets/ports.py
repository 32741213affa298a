"""Choose a TCP port for a server that cannot be told to choose one itself."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable

#: Below the range from which Linux takes the ports of outgoing connections: a port in that range can be free when
#: we look and be some client's when the server starts.
LOWEST, HIGHEST = 15000, 32000

_TRIES = 200
_given: set[int] = set()


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of the loopback address now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Java's servers do: TIME_WAIT is no obstacle
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose_port(free: Callable[[int], bool] = is_free, choice: Callable[[int, int], int] = random.randint) -> int:
    """A port that is free now and was not given to anybody by this process before."""
    for _ in range(_TRIES):
        port = choice(LOWEST, HIGHEST)
        if port not in _given and free(port):
            _given.add(port)
            return port
    raise OSError(f"no free port between {LOWEST} and {HIGHEST} in {_TRIES} tries")

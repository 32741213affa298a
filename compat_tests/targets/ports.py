"""Choose a TCP port for a server that cannot choose one itself."""

from __future__ import annotations

import fcntl
import random
import socket
import threading
from collections.abc import Callable
from typing import IO

from compat_tests.targets.cache import cache_directory

#: Below the range from which Linux takes the ports of outgoing connections: a port in that range may be free when
#: it is chosen, and belong to some client when the server starts.
LOWEST, HIGHEST = 16000, 32000

_TRIES = 200
_own_ports: set[int] = set()
_choosing = threading.Lock()


class _PortLocks:
    """The ports that this process has chosen: it holds a lock on one byte of a shared file for each while it lives."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None

    def take(self, port: int) -> bool:
        """Have the port for this process; False if another has it."""
        if self._file is None:
            cache_directory().mkdir(parents=True, exist_ok=True)
            self._file = (cache_directory() / "ports").open("ab")  # to close it would give back all of them
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
        except (BlockingIOError, PermissionError):
            return False
        return True


_port_locks = _PortLocks()


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
    """A port that is free now, and that neither this process nor another one that runs has been given before."""
    with _choosing:
        for _ in range(_TRIES):
            port = choice(LOWEST, HIGHEST)
            if port not in _own_ports and free(port) and _port_locks.take(port):
                _own_ports.add(port)
                return port
    raise OSError(f"no free port between {LOWEST} and {HIGHEST} in {_TRIES} tries")

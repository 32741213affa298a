"""Processes that do nothing for a while, as on a machine that hangs: their connections stay open."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stopped(*pids: int | None) -> Iterator[None]:
    """Stop the processes (SIGSTOP), and let them go on at the end."""
    running = [pid for pid in pids if pid is not None]
    assert len(running) == len(pids), "a process that is to stop does not run"
    for pid in running:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in running:
            os.kill(pid, signal.SIGCONT)

"""The time of the unavoidable parts of an add on this machine: a round trip over loopback, and an fdatasync."""

import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

BLOCK_SIZE = 512
"""Bytes of one journal block: the least a journal writes."""

ECHO_SOURCE = """
import socket, sys
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
connection, _ = listening.accept()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while data := connection.recv(65536):
    connection.sendall(data)
"""
"""The other end, in a process of its own as a bookie is."""


def round_trip_p50_s(size: int, samples: int = 2000) -> float:
    """Return the median time in seconds of sending ``size`` bytes to another process and getting them back."""
    with subprocess.Popen([sys.executable, "-I", "-c", ECHO_SOURCE], stdout=subprocess.PIPE) as echo:
        try:
            assert echo.stdout is not None
            port = int(echo.stdout.readline())
            with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return statistics.median(_round_trip_s(connection, bytes(size)) for _ in range(samples))
        finally:
            echo.kill()


def _round_trip_s(connection: socket.socket, data: bytes) -> float:
    started = time.perf_counter()
    connection.sendall(data)
    missing = len(data)
    while missing:
        missing -= len(connection.recv(missing))
    return time.perf_counter() - started


def fdatasync_p50_s(directory: Path, samples: int = 200) -> float:
    """Return the median time in seconds of writing a block into a zeroed file in ``directory`` and syncing it.

    That is what a journal does for one add that comes alone.
    """
    path = directory / f"fdatasync-{os.getpid()}"
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(file, bytes(BLOCK_SIZE * samples))
        os.fsync(file)
        return statistics.median(_sync_s(file, index * BLOCK_SIZE) for index in range(samples))
    finally:
        os.close(file)
        path.unlink()


def _sync_s(file: int, offset: int) -> float:
    block = os.urandom(BLOCK_SIZE)
    started = time.perf_counter()
    os.pwrite(file, block, offset)
    os.fdatasync(file)
    return time.perf_counter() - started

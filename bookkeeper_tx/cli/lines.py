"""A file as a sequence of entries: its lines with their line ends, empty lines too; joined they are the file."""

import os
import threading
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any, BinaryIO

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

READ_SIZE = 256 * 1024
"""Bytes of one read; a pipe returns those that it has."""


def chunks_of_lines(file: BinaryIO, count: int) -> Iterator[list[bytes]]:
    """Yield the lines of ``file`` in lists of ``count``; the last list may be shorter.  Nothing is stripped."""
    lines = iter(file)
    while chunk := list(islice(lines, count)):
        yield chunk


def count_lines(file: BinaryIO) -> int:
    """Return how many lines ``file`` has from its current position on."""
    return sum(1 for _ in file)


async def lines_as_they_come(reactor: Any, file: BinaryIO) -> AsyncIterator[list[bytes]]:
    """Yield the lines of ``file``, such as a pipe, in lists: all available lines, as soon as there is one."""
    rest = b""
    while data := await _read_in_thread(reactor, file.fileno()):
        *ended, rest = (rest + data).split(b"\n")
        if ended:
            yield [line + b"\n" for line in ended]
    if rest:
        yield [rest]


def _read_in_thread(reactor: Any, descriptor: int) -> "Deferred[bytes]":
    """Read without blocking the reactor.

    The thread is a daemon and bypasses Python's buffers and their locks.  So the program can end while the read waits
    for a key.
    """
    deferred: Deferred[bytes] = Deferred(lambda _: None)

    def fire(result: bytes | Failure) -> None:
        if not deferred.called:
            deferred.callback(result)

    def read() -> None:
        result: bytes | Failure
        try:
            result = os.read(descriptor, READ_SIZE)
        except OSError:
            result = Failure()  # type: ignore[no-untyped-call]
        reactor.callFromThread(fire, result)

    threading.Thread(target=read, name="read lines", daemon=True).start()
    return deferred

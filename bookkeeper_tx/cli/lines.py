"""A file as a sequence of entries: its lines, line ends and empty lines included: joined they are the file."""

import os
import threading
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any, BinaryIO

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

READ_SIZE = 256 * 1024
"""Bytes asked for at a time; a pipe gives what it has."""


def chunks_of_lines(file: BinaryIO, count: int) -> Iterator[list[bytes]]:
    """Yield the lines of ``file`` in lists of ``count``; the last list may be shorter.  Nothing is stripped."""
    lines = iter(file)
    while chunk := list(islice(lines, count)):
        yield chunk


def count_lines(file: BinaryIO) -> int:
    """Return how many lines ``file`` has from where it stands."""
    return sum(1 for _ in file)


async def lines_as_they_come(reactor: Any, file: BinaryIO) -> AsyncIterator[list[bytes]]:
    """Yield the lines of ``file``, which may be a pipe or a terminal: as soon as there are any, all there are."""
    rest = b""
    while data := await _read_in_thread(reactor, file.fileno()):
        *ended, rest = (rest + data).split(b"\n")
        if ended:
            yield [line + b"\n" for line in ended]
    if rest:
        yield [rest]


def _read_in_thread(reactor: Any, descriptor: int) -> "Deferred[bytes]":
    """Read without holding up the reactor.

    The thread is a daemon, and reads past Python's buffers and their locks, so that nobody has to press a key before
    the program can end.
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

"""A file as a sequence of entries: its lines, line ends and empty lines included: joined they are the file."""

from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO


def chunks_of_lines(file: BinaryIO, count: int) -> Iterator[list[bytes]]:
    """Yield the lines of ``file`` in lists of ``count``; the last list may be shorter.  Nothing is stripped."""
    lines = iter(file)
    while chunk := list(islice(lines, count)):
        yield chunk


def count_lines(file: BinaryIO) -> int:
    """Return how many lines ``file`` has from where it stands."""
    return sum(1 for _ in file)

"""The records of an entry log as arrays, and those of a part of it (:mod:`bookkeeper_tx.entry.entry_log_scan`)."""

from collections.abc import Iterator

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from bookkeeper_tx.entry.entry_log_scan import Problem, ReadAt, Stretch, stretches

Ints = NDArray[np.int64]


@frozen(eq=False)
class Records:
    """Records that lie in ``buffer``, the bytes of the file from ``base`` on."""

    buffer: bytes
    base: int
    starts: Ints
    """The offset of each length word in the file."""
    sizes: Ints
    """Bytes of each, length word included."""

    @classmethod
    def of(cls, stretch: Stretch) -> "Records":
        """Return the records of a stretch."""
        count = np.array(stretch.counts, np.int64)
        each = np.repeat(np.array(stretch.sizes, np.int64), count)
        before = np.repeat(np.cumsum(count) - count, count)
        starts = np.repeat(np.array(stretch.firsts, np.int64), count) + (np.arange(len(each)) - before) * each
        return cls(stretch.buffer, stretch.base, starts + stretch.base, each)

    def between(self, first: int, end: int) -> "Records":
        """Return those that start at ``first`` or after it, and before ``end``."""
        low, high = np.searchsorted(self.starts, (first, end))
        if low == 0 and high == len(self.starts):
            return self
        return Records(self.buffer, self.base, self.starts[low:high], self.sizes[low:high])


def scan(read: ReadAt, size: int, first: int = 0, end: int | None = None) -> Iterator[Records | Problem]:
    """Give the records that start at ``first`` or after it and before ``end``, in order, of a log of ``size`` bytes.

    The caller has checked the header.  A record belongs to the part in which its length word begins: a log may be cut
    anywhere, and its parts together have every record once.  No content of the file raises: bytes that cannot be a
    record are a Problem.  Nothing after such bytes can be found, so that Problem is the last one given.
    """
    for found in stretches(read, size, end):
        if isinstance(found, Problem):
            if first <= found.offset < (size if end is None else end):
                yield found
            continue
        records = Records.of(found).between(first, size if end is None else end)
        if len(records.starts):
            yield records

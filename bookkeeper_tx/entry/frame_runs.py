"""Runs of equal-sized frames, handled a byte column at a time.

In a run of frames of one size the j-th bytes of all frames are the slice ``buffer[start + j::stride]``.  Comparing or
writing such a column is one call into C, so checking a header of 20 bytes in 1000 frames takes 20 calls instead of 1000
turns of a Python loop.
"""

import sys
from array import array
from collections.abc import Callable, Sequence

RUN_MIN = 8
"""Fewer equal frames than this, or fewer of one ledger in turn, are faster to read one by one."""

_ID_SIZE = 8
_ID_END = 2**63
_LOOK_AHEAD_FACTOR = 31


def _ids(first: int, count: int) -> bytes:
    ids = array("q", range(first, first + count))
    if sys.byteorder == "little":
        ids.byteswap()
    return ids.tobytes()


def equal_frames(buffer: bytes, start: int, stride: int, count: int, size: int) -> int:
    """Return how many of the ``count`` frames at ``start`` begin with the same ``size`` bytes as the first of them."""
    head = buffer[start : start + size]
    return _counted(1, count, lambda at, limit: _equal(buffer, start + at * stride, stride, limit, head))


def ascending_ids(buffer: bytes, start: int, stride: int, count: int, first: int) -> int:
    """Return how many of the ``count`` frames have big-endian ids at ``start`` that count up from ``first`` by one."""
    count = min(count, _ID_END - first)
    return _counted(0, count, lambda at, limit: _ascending(buffer, start + at * stride, stride, limit, first + at))


def consecutive_frames(buffer: bytes, start: int, stride: int, count: int, size: int, first: int) -> int:
    """Return how many of the ``count`` frames at ``start`` are like the first, but for ids that count up by one.

    Each begins with the same ``size`` bytes; right after them is the big-endian id, which is ``first`` in the first.
    """
    head = buffer[start : start + size]

    def take(at: int, limit: int) -> int:
        limit = _equal(buffer, start + at * stride, stride, limit, head)
        return _ascending(buffer, start + at * stride + size, stride, limit, first + at) if limit else 0

    return _counted(1, min(count, _ID_END - first), take)


def _counted(taken: int, count: int, take: Callable[[int, int], int]) -> int:
    """Return how many of ``count`` frames are taken in the end; ``take(at, limit)`` looks at ``limit`` from ``at`` on.

    It looks at one frame first, then at 31 times as many as are taken already.  So the cost is in proportion to the
    frames that are taken.  One look at all would scan the rest of the buffer again for each of many short runs.
    """
    limit = 1
    while taken < count:
        limit = min(limit, count - taken)
        found = take(taken, limit)
        taken += found
        if found < limit:
            break
        limit = taken * _LOOK_AHEAD_FACTOR
    return taken


def _equal(buffer: bytes, start: int, stride: int, count: int, head: bytes) -> int:
    if not count or not buffer.startswith(head, start):
        return 0
    if count == 1:
        return 1
    for at in range(start, start + len(head)):
        column = buffer[at : at + (count - 1) * stride + 1 : stride]
        if column.count(column[:1]) != count:
            count -= len(column.lstrip(column[:1]))
            if count == 1:
                break
    return count


def _ascending(buffer: bytes, start: int, stride: int, count: int, first: int) -> int:
    if count == 1:
        return int(buffer.startswith(first.to_bytes(_ID_SIZE, "big", signed=True), start))
    expected = _ids(first, count)
    for j in range(_ID_SIZE):
        column = buffer[start + j : start + j + (count - 1) * stride + 1 : stride]
        wanted = expected[j : count * _ID_SIZE : _ID_SIZE]
        if column != wanted:
            count = next(i for i in range(count) if column[i] != wanted[i])
            if count == 0:
                break
    return count


def numbered(template: bytes, id_offset: int, first: int, count: int) -> bytes:
    """Return ``count`` copies of ``template``, the big-endian id at ``id_offset`` counting up from ``first`` by one."""
    if count == 1:
        return template[:id_offset] + _ids(first, 1) + template[id_offset + _ID_SIZE :]
    frames = bytearray(template * count)
    ids = _ids(first, count)
    stride = len(template)
    for j in range(_ID_SIZE):
        frames[id_offset + j :: stride] = ids[j::_ID_SIZE]
    return bytes(frames)


def numbered_heads(
    head: bytes, id_offset: int, first: int, bodies: Sequence[bytes | bytearray | memoryview]
) -> bytearray:
    """Return ``bodies``, all of one size, each after a copy of ``head`` in which the id counts up from ``first``."""
    frames = bytearray(head).join([b"", *bodies])
    ids = _ids(first, len(bodies))
    stride = len(head) + len(bodies[0])
    for j in range(_ID_SIZE):
        column = ids[j::_ID_SIZE]
        if column[0] != head[id_offset + j] or column.count(column[:1]) != len(column):
            frames[id_offset + j :: stride] = column
    return frames

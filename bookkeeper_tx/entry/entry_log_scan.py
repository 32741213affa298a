"""Walking an entry log from its start: where its records are, where it is torn (docs/formats/entry-log.md).

Entries are not self-synchronising: the start of a record follows only from the length words before it.  So a reader of
the records after some offset walks over those before it as well; records of one size, as most are, are walked many at
a time.

Logs are ours, or Java's.  Logs that Java's direct I/O wrote have filler bytes up to the next block in some places.
"""

from collections.abc import Callable, Iterator
from typing import Final

from attrs import frozen

from bookkeeper_tx.entry.frame_runs import equal_frames
from protocol_specs import codecs
from protocol_specs.disk import entry_log as spec

ReadAt = Callable[[int, int], bytes]
"""``read(offset, count)`` gives the bytes of the file there; fewer at its end."""

CHUNK_SIZE: Final = 4 * 1024 * 1024
"""Bytes read at once."""

RECORD_SIZE_MAX: Final = 64 * 1024 * 1024
"""No bookie has stored a larger record.  One is a Problem, and stepped over: it would be held in memory, and a row that
large breaks Spark."""

FILLER: Final = 0xF0
"""The byte with which Java's direct I/O fills blocks."""

BLOCK_SIZE: Final = 4096

_AHEAD_MIN, _AHEAD_MAX = 16, 1 << 16
"""How many records are looked at together, on the guess that they have the size of the one before."""

_HEADER = codecs.derive("entry log header", spec.HEADER)
_WORD = codecs.RECORD_LENGTH.size
_unpack_length = codecs.RECORD_LENGTH.unpack_fixed


@frozen
class Header:
    """The header of a log."""

    version: int
    ledgers_map_offset: int
    """0: the log has no map (yet)."""
    ledgers_map_count: int
    """Ledgers in the map."""

    @property
    def scoped(self) -> bool:
        """Whether its entries are of ledgers outside scope 0."""
        return self.version == spec.SCOPED_VERSION


@frozen
class Problem:
    """Bytes that are no record."""

    offset: int
    size: int
    text: str


@frozen(eq=False)
class Stretch:
    """Records that lie back to back in ``buffer``, the bytes of the file from ``base`` on, or with filler between."""

    buffer: bytes
    base: int
    firsts: list[int]
    """Where in the buffer each run of records of one size begins."""
    sizes: list[int]
    """Bytes of each record of the run, length word included."""
    counts: list[int]
    """Records of the run."""

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Give place in the buffer and size of each record."""
        for first, size, count in zip(self.firsts, self.sizes, self.counts, strict=True):
            for at in range(first, first + size * count, size):
                yield at, size


@frozen(eq=False)
class Walked:
    """The result of a walk over a buffer."""

    stretch: Stretch
    end: int
    """The position in the buffer at which the walk stopped."""
    damaged: bool
    """Whether the bytes there cannot be a record; otherwise the buffer has ended before the next record does."""


def parse_header(data: bytes) -> Header:
    """Return the header at the start of a log; raises ValueError with a text for the user."""
    if len(data) < spec.HEADER_SIZE:
        raise ValueError(f"the file ends after {len(data)} bytes, within its header of {spec.HEADER_SIZE}")
    magic, version, map_offset, map_count = _HEADER.unpack_from(data)
    if magic != spec.MAGIC:
        raise ValueError(f"it starts with {magic!r} and not with {spec.MAGIC!r}: it is no entry log")
    if not 0 <= version <= spec.SCOPED_VERSION:
        raise ValueError(f"version {version} of entry logs is unknown")
    return Header(version, map_offset, map_count)


def stretches(read: ReadAt, size: int, end: int | None = None) -> Iterator[Stretch | Problem]:
    """Give the records of a log of ``size`` bytes that start before ``end``, and some behind, in order.

    The caller has checked the header.  No content of the file raises: bytes that cannot be a record are a Problem.
    Nothing after such bytes can be found, so that Problem is the last one given.
    """
    end = size if end is None else min(end, size)
    position = spec.HEADER_SIZE
    while position < min(end, size):
        data = read(position, CHUNK_SIZE)
        if len(data) < min(CHUNK_SIZE, size - position):
            size = position + len(data)  # the file was cut while it was read
        walked = walk(data, position)
        if walked.end == 0 and not walked.damaged:
            step = _step(read, data, position, size)
            if isinstance(step, Problem):
                position = step.offset + step.size
                if step.size:
                    yield step
                continue
            walked = walk(step, position)
        if walked.stretch.firsts:
            yield walked.stretch
        position += walked.end
        if walked.damaged:
            yield _damage(read, position, size)
            return


def walk(buffer: bytes, base: int) -> Walked:
    """Find the records that are whole in ``buffer``, which starts with one, or with filler, at ``base`` of the file."""
    firsts: list[int] = []
    sizes: list[int] = []
    counts: list[int] = []
    position, end, before, ahead = 0, len(buffer), 0, _AHEAD_MIN
    damaged = False
    while end - position >= _WORD:
        (length,) = _unpack_length(buffer, position)
        if length <= 0:
            skipped = filler_size(buffer, base, position)
            if not skipped:
                damaged = True
                break
            position += skipped
            continue
        size, count = length + _WORD, 1
        if size > end - position:
            break
        if size == before:
            wanted = min(ahead, (end - position) // size)
            count = equal_frames(buffer, position, size, wanted, _WORD)
            ahead = min(2 * ahead, _AHEAD_MAX) if count == ahead else _AHEAD_MIN
        firsts.append(position)
        sizes.append(size)
        counts.append(count)
        position += size * count
        before = size
    return Walked(Stretch(buffer, base, firsts, sizes, counts), position, damaged)


def filler_size(buffer: bytes, base: int, position: int) -> int:
    """Return the number of filler bytes at ``position``, up to the next block or the buffer's end; 0: none.

    ``buffer`` is the bytes of the file from ``base`` on.
    """
    offset = base + position
    behind = min(offset - offset % BLOCK_SIZE + BLOCK_SIZE - base, len(buffer))
    piece = buffer[position:behind]
    return len(piece) if piece.count(FILLER) == len(piece) else 0


def _step(read: ReadAt, data: bytes, position: int, size: int) -> bytes | Problem:
    """Return a record that does not end within ``data``, or why it cannot be shown; a Problem of size 0 is filler."""
    left = size - position
    if len(data) < _WORD:
        if data.count(FILLER) == len(data):
            return Problem(position + left, 0, "")
        return Problem(position, left, f"the file ends within a length word, after {left} bytes of it")
    whole = _unpack_length(data)[0] + _WORD
    if whole > left:
        return Problem(position, left, f"a record of {whole} bytes is cut off: the file ends after {left} of them")
    if whole > RECORD_SIZE_MAX:
        return Problem(position, whole, f"a record of {whole} bytes is not shown: the limit is {RECORD_SIZE_MAX}")
    found = read(position, whole)
    if len(found) < whole:
        return Problem(position, left, f"a record of {whole} bytes is cut off: the file was shortened meanwhile")
    return found


def _damage(read: ReadAt, position: int, size: int) -> Problem:
    left = size - position
    (length,) = _unpack_length(read(position, _WORD))
    if length:
        return Problem(position, left, f"a record cannot have {length} bytes: the {left} bytes from here on are lost")
    behind = position
    while behind < size:
        data = read(behind, CHUNK_SIZE)
        zeros = len(data) - len(data.lstrip(b"\0"))
        behind += zeros
        if not data:
            break
        if zeros < len(data):
            text = f"zeros, and from offset {behind} on other bytes: the {left} bytes from here on are lost"
            return Problem(position, left, text)
    return Problem(position, left, f"{left} zeros up to the end: room made ahead, or what a crash left unwritten")

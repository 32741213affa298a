"""Checksums of flushed records, so that a read ahead need not check every record.

A flush knows that its records are right, and the location of each.  It leaves a CRC-32C of each piece (consecutive
entries of one index page that are back to back in the log) and of its locations; a read of that piece compares one
number.  Records without a checksum here, such as all those written before the start, are checked one by one.
"""

from array import array
from collections.abc import Iterable
from typing import Final, NamedTuple

import crc32c

from bookkeeper_tx.bookie.storage.entry_log import CHECKED_COUNT_MIN, PlacedRun

PIECE_COUNT_MIN: Final = 64
"""For fewer records a checksum is not worth its memory."""

PART_COUNT_MIN: Final = CHECKED_COUNT_MIN
"""For a writer that sends fewer entries at a time no checksums are made: they would take more time than they save."""

PIECE_SIZE_MAX: Final = 512 * 1024
"""Bytes read ahead at once, at most."""

PIECES_MAX: Final = 32 * 1024
"""About 8 MiB of memory, for the 32 million entries flushed last if they are small."""


class Piece(NamedTuple):
    """Entries that are back to back in an entry log."""

    first_location: int
    entry_count: int
    size: int
    """Bytes of their records."""
    checksum: int


def checksum_of(records: bytes, locations: "array[int]") -> int:
    """Return the checksum of a piece with these records and the locations of these entries."""
    return int(crc32c.crc32c(locations.tobytes(), crc32c.crc32c(records)))


class CheckedPieces:
    """The pieces flushed last, by the location of their first entry.  ``get`` may be called from any thread."""

    def __init__(self, count_max: int = PIECES_MAX) -> None:
        self._count_max = count_max
        self._pieces: dict[int, Piece] = {}
        self.get = self._pieces.get

    def add(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            self._pieces[piece.first_location] = piece
        while len(self._pieces) > self._count_max:
            del self._pieces[next(iter(self._pieces))]


class PieceMaker:
    """Puts together the pieces of one ledger while its locations are written."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self._locations = array("Q")
        self._next = (0, 0)
        """Entry id and location at which the piece would go on."""
        self._size = 0
        self._crc = 0

    def add(self, placed: PlacedRun, index: int, locations: "array[int]") -> None:
        """Take the entries of ``placed`` from its ``index``-th on that have these locations; they share a page."""
        count = len(locations)
        if count < PART_COUNT_MIN:
            self.close()
            return
        run = placed.run
        first = run.first_entry_id + index
        records = run.records(first, count)
        if (first, locations[0]) != self._next or self._size + len(records) > PIECE_SIZE_MAX:
            self.close()
        self._locations.extend(locations)
        self._next = (first + count, placed.base + run.offsets[index + count])
        self._size += len(records)
        self._crc = crc32c.crc32c(records, self._crc)

    def close(self) -> None:
        """End the piece: the next entries are in another page."""
        if len(self._locations) >= PIECE_COUNT_MIN and self._size <= PIECE_SIZE_MAX:
            checksum = crc32c.crc32c(self._locations.tobytes(), self._crc)
            self._pieces.append(Piece(self._locations[0], len(self._locations), self._size, checksum))
        self._locations = array("Q")
        self._next = (0, 0)
        self._size = self._crc = 0

    def take(self) -> list[Piece]:
        """Return all pieces."""
        self.close()
        return self._pieces

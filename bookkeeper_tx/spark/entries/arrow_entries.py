"""Entries as Arrow record batches of a bounded size."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from bookkeeper_tx.spark.entries.entry_columns import EntryPiece, batch_of, batch_of_lost
from bookkeeper_tx.spark.reading.verified_run import LostEntry, VerifiedRun

ROWS_MAX = 10_000
BYTES_MAX = 8 * 1024 * 1024

HELD_FACTOR = 4
"""The buffers of the runs that wait may hold ``bytes_max`` times this; then a batch is made of them."""


def record_batches(
    parts: Iterable[VerifiedRun | LostEntry], schema: pa.Schema, rows_max: int = ROWS_MAX, bytes_max: int = BYTES_MAX
) -> Iterator[pa.RecordBatch]:
    """Give the entries of ``parts``, which may be of several ledgers, in their order as batches.

    A batch has at most ``rows_max`` rows, and at most ``bytes_max`` bytes of payload, unless it is a single row.
    ``schema`` has any of the columns scope_id, ledger_id, entry_id, payload, lac, length, digest_ok, bookie and lost.
    A lost entry is a row only if there is a column ``lost``.
    """
    batch = _Batch(schema, rows_max, bytes_max)
    for part in parts:
        if isinstance(part, VerifiedRun):
            yield from batch.add(EntryPiece(part, 0, part.count))
        elif "lost" in schema.names:
            yield from batch.add_lost(part)
    yield from batch.made()


class _Batch:
    """The rows of the next batch: either entries or lost entries."""

    def __init__(self, schema: pa.Schema, rows_max: int, bytes_max: int) -> None:
        self._schema = schema
        self._rows_max = rows_max
        self._bytes_max = bytes_max
        self._clear()

    def _clear(self) -> None:
        self._pieces: list[EntryPiece] = []
        self._lost: list[LostEntry] = []
        self._rows = self._size = self._held = 0

    def add(self, piece: EntryPiece) -> Iterator[pa.RecordBatch]:
        """Take entries, and give the batches that they fill."""
        if self._lost:
            yield from self.made()
        while piece.count:
            fitting = piece.first(min(piece.count, self._rows_max - self._rows))
            count = fitting.count_within(self._bytes_max - self._size)
            if not count and not self._rows:
                count = 1
            if count:
                self._take(fitting.first(count))
                piece = piece.behind(count)
            if piece.count or self._rows >= self._rows_max or self._held >= HELD_FACTOR * self._bytes_max:
                yield from self.made()

    def add_lost(self, entry: LostEntry) -> Iterator[pa.RecordBatch]:
        """Take a lost entry, and give the batch that ends before it, if there is one."""
        if self._pieces or len(self._lost) >= self._rows_max:
            yield from self.made()
        self._lost.append(entry)

    def made(self) -> Iterator[pa.RecordBatch]:
        """Give the batch of the rows that were taken, if there are any."""
        if self._pieces:
            yield batch_of(self._pieces, self._schema)
        elif self._lost:
            yield batch_of_lost(self._lost, self._schema)
        self._clear()

    def _take(self, piece: EntryPiece) -> None:
        self._pieces.append(piece)
        self._rows += piece.count
        self._size += piece.payload_size
        self._held += len(piece.entries.run.buffer)

"""The columns of entries.  Numpy makes each from all entries of a run at once, by views of the received buffer."""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy
import pyarrow as pa
from pyarrow import compute

from bookkeeper_tx.entry.entry_format import format_of
from bookkeeper_tx.spark.reading.verified_run import LostEntry, VerifiedRun
from protocol_specs.ledger_id import split

INT64_SIZE = 8

COPIED_SIZE_MAX = 2048
"""If payloads are smaller than this on average, Arrow joins them, which copies them twice."""


class EntryPiece:
    """``count`` consecutive entries of ``entries``, the first at ``index``."""

    def __init__(self, entries: VerifiedRun, index: int, count: int) -> None:
        self.entries = entries
        self.index = index
        self.count = count
        self._ahead = entries.run.prefix + entries.payload_offset

    @cached_property
    def offsets(self) -> Any:
        """The start of each entry's record in the buffer, and the end of the last."""
        offsets = self.entries.run.offsets[self.index : self.index + self.count + 1]
        if isinstance(offsets, range):
            return numpy.arange(offsets.start, offsets.stop, offsets.step, dtype=numpy.int64)
        return numpy.array(offsets, dtype=numpy.int64)

    @cached_property
    def payload_sizes(self) -> Any:
        return numpy.diff(self.offsets) - self._ahead

    @property
    def payload_size(self) -> int:
        """Bytes of all payloads."""
        offsets = self.entries.run.offsets
        return offsets[self.index + self.count] - offsets[self.index] - self.count * self._ahead

    def first(self, count: int) -> "EntryPiece":
        if count == self.count:
            return self
        return EntryPiece(self.entries, self.index, count)

    def behind(self, count: int) -> "EntryPiece":
        return EntryPiece(self.entries, self.index + count, self.count - count)

    def count_within(self, size: int) -> int:
        """Return how many of the entries have payloads of up to ``size`` bytes together."""
        if self.payload_size <= size:
            return self.count
        return int(numpy.searchsorted(numpy.cumsum(self.payload_sizes), size, side="right"))

    def copy_payloads(self, target: Any) -> None:
        """Copy the payloads into ``target``, which has exactly their size."""
        run = self.entries.run
        if isinstance(run.offsets, range):
            start, stride = run.offsets[self.index], run.offsets.step
            records = numpy.frombuffer(run.buffer, numpy.uint8, self.count * stride, start)
            payloads = records.reshape(self.count, stride)[:, self._ahead :]
            target.reshape(payloads.shape)[:] = payloads
            return
        if len(target) < COPIED_SIZE_MAX * self.count:
            if len(target):
                target[:] = self._joined_by_arrow(len(target))
            return
        # A view costs less than a copy of many bytes.
        buffer = memoryview(run.buffer)
        offsets, ahead = run.offsets[self.index : self.index + self.count + 1], self._ahead
        joined = b"".join([buffer[start + ahead : end] for start, end in pairwise(offsets)])
        target[:] = numpy.frombuffer(joined, numpy.uint8)

    def _joined_by_arrow(self, size: int) -> Any:
        """Return the payloads, ``size`` bytes, one after the other: Arrow sees a record as a value, and cuts it."""
        buffers = [None, pa.py_buffer(self.offsets), pa.py_buffer(self.entries.run.buffer)]
        records = pa.Array.from_buffers(pa.large_binary(), self.count, buffers)
        # Without a stop, binary_slice of pyarrow 26.0.1 overflows for two or more values: "Negative buffer resize".
        payloads = compute.binary_slice(records, self._ahead, self._ahead + size)
        return numpy.frombuffer(payloads.buffers()[2], numpy.uint8, size)

    def entry_ids(self) -> Any:
        first = self.entries.first + self.index
        return numpy.arange(first, first + self.count, dtype=numpy.int64)

    def metadata(self, field: str) -> Any:
        """Return a field of 64 bits of each entry's metadata."""
        run = self.entries.run
        at = run.prefix + format_of(run.ledger_id).metadata.offsets[field]
        buffer = numpy.frombuffer(run.buffer, numpy.uint8)
        words = buffer[(self.offsets[:-1] + at)[:, None] + numpy.arange(INT64_SIZE)]
        return words.view(">i8")[:, 0].astype(numpy.int64)

    def bookies(self) -> pa.Array:
        bookies = self.entries.bookies
        if len(bookies) == 1:
            return pa.repeat(pa.scalar(bookies[0], pa.string()), self.count)
        return pa.array(bookies[self.index : self.index + self.count], pa.string())


def _int64(of_piece: Callable[[EntryPiece], Any]) -> Callable[[Sequence[EntryPiece], pa.DataType], pa.Array]:
    def column(pieces: Sequence[EntryPiece], kind: pa.DataType) -> pa.Array:
        return pa.array(numpy.concatenate([of_piece(piece) for piece in pieces]), kind)

    return column


def _payloads(pieces: Sequence[EntryPiece], kind: pa.DataType) -> pa.Array:
    sizes = numpy.concatenate([piece.payload_sizes for piece in pieces])
    offsets = numpy.zeros(len(sizes) + 1, numpy.int64 if pa.types.is_large_binary(kind) else numpy.int32)
    numpy.cumsum(sizes, out=offsets[1:])
    values = numpy.empty(int(offsets[-1]), numpy.uint8)
    at = 0
    for piece in pieces:
        size = piece.payload_size
        piece.copy_payloads(values[at : at + size])
        at += size
    return pa.Array.from_buffers(kind, len(sizes), [None, pa.py_buffer(offsets), pa.py_buffer(values)])


def _digests_ok(pieces: Sequence[EntryPiece], kind: pa.DataType) -> pa.Array:
    return pa.concat_arrays([pa.repeat(pa.scalar(piece.entries.digest_ok), piece.count) for piece in pieces])


def _bookies(pieces: Sequence[EntryPiece], kind: pa.DataType) -> pa.Array:
    return pa.concat_arrays([piece.bookies() for piece in pieces]).cast(kind)


def _nulls(pieces: Sequence[EntryPiece], kind: pa.DataType) -> pa.Array:
    return pa.nulls(sum(piece.count for piece in pieces), kind)


def _constant(part: int) -> Callable[[EntryPiece], Any]:
    return lambda piece: numpy.full(piece.count, split(piece.entries.ledger_id)[part], numpy.int64)


_COLUMNS: dict[str, Callable[[Sequence[EntryPiece], pa.DataType], pa.Array]] = {
    "scope_id": _int64(_constant(0)),
    "ledger_id": _int64(_constant(1)),
    "entry_id": _int64(EntryPiece.entry_ids),
    "payload": _payloads,
    "lac": _int64(lambda piece: piece.metadata("last_add_confirmed")),
    "length": _int64(lambda piece: piece.metadata("length")),
    "digest_ok": _digests_ok,
    "bookie": _bookies,
    "lost": _nulls,
}

_OF_LOST: dict[str, Callable[[LostEntry], int | str]] = {
    "scope_id": lambda lost: split(lost.ledger_id)[0],
    "ledger_id": lambda lost: split(lost.ledger_id)[1],
    "entry_id": lambda lost: lost.entry_id,
    "lost": lambda lost: "; ".join(f"{bookie}: {error}" for bookie, error in lost.reasons.items()),
}


def batch_of(pieces: Sequence[EntryPiece], schema: pa.Schema) -> pa.RecordBatch:
    """Return the entries of ``pieces`` as one batch with the columns of ``schema``."""
    columns = [_COLUMNS[field.name](pieces, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def batch_of_lost(entries: Sequence[LostEntry], schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch of lost entries: the columns with their ids and the reason; the others are null."""
    columns = [
        pa.array(map(_OF_LOST[field.name], entries), field.type)
        if field.name in _OF_LOST
        else pa.nulls(len(entries), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)

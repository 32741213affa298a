"""Requests to add many entries: sealed and framed all at once, a column at a time.

The first entry is sealed and framed as any other is.  The later ones are copies of its bytes in which only frame size,
entry id, length, digest and payload differ.  That takes numpy; without it, and for digests other than a checksum,
entries are sealed one by one, with the same result.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from bookkeeper_tx.entry.digest import EQUAL_MIN, Checksum, EntryDigest, SealedFormat
from bookkeeper_tx.entry.entry_format import format_of
from bookkeeper_tx.protocol.client.v2_add_runs import add_requests
from protocol_specs import codecs

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]

PAYLOAD_MAX = 4096
"""Bytes of payloads of one size up to which a copy of them costs less than a second call of the checksum."""

FRAME_SIZE_TYPE = f">u{codecs.RECORD_LENGTH.size}"
INT64 = ">i8"


def add_frames(
    digest: EntryDigest, ledger_id: int, first: int, last_add_confirmed: int, length: int, payloads: Sequence[bytes]
) -> bytes | memoryview:
    """Return the frames that ask to add the entries of :meth:`EntryDigest.seal_run`."""
    checksum = digest.checksum
    by_columns = numpy is not None and checksum is not None and len(payloads) >= EQUAL_MIN
    one_by_one = payloads[:1] if by_columns else payloads
    entries = digest.seal_run(ledger_id, first, last_add_confirmed, length, one_by_one)
    frames = add_requests(digest.master_key, entries)
    if checksum is None or not by_columns:
        return frames
    head = frames[: len(frames) - len(payloads[0])]
    run = _Run(ledger_id, digest.format_of(ledger_id), checksum, head, first)
    sizes = numpy.fromiter(map(len, payloads), numpy.int64, len(payloads))
    lengths = numpy.cumsum(sizes) + length
    size = len(payloads[0])
    if size <= PAYLOAD_MAX and (sizes == size).all():
        return run.equal(payloads, size, lengths)
    return run.uneven(payloads, sizes, lengths)


class _Run:
    """The common parts of the frames of a run; ``head`` is the first frame up to its payload."""

    def __init__(self, ledger_id: int, form: SealedFormat, checksum: Checksum, head: bytes, first: int) -> None:
        metadata = format_of(ledger_id).metadata
        self._head = numpy.frombuffer(head, numpy.uint8)
        self._checksum = checksum
        self._first = first
        self._metadata_at = len(head) - form.payload_offset
        self._digest_at = self._metadata_at + metadata.size
        self._entry_id_at = self._metadata_at + metadata.offsets["entry_id"]
        self._length_at = self._metadata_at + metadata.offsets["length"]

    def equal(self, payloads: Sequence[bytes], size: int, lengths: Any) -> memoryview:
        """Return the frames of payloads of one size: one checksum covers metadata and payload, copied together."""
        count, payload_at = len(payloads), len(self._head)
        frames = numpy.empty((count, payload_at + size), numpy.uint8)
        self._put_heads(frames, lengths)
        frames[:, payload_at:] = numpy.frombuffer(b"".join(payloads), numpy.uint8).reshape(count, size)
        covered = numpy.concatenate((frames[:, self._metadata_at : self._digest_at], frames[:, payload_at:]), axis=1)
        self._put_digests(frames, map(self._checksum, _rows(covered)))
        return memoryview(frames.reshape(-1).data)

    def uneven(self, payloads: Sequence[bytes], sizes: Any, lengths: Any) -> bytes:
        """Return the frames of payloads of any size."""
        heads = numpy.empty((len(payloads), len(self._head)), numpy.uint8)
        self._put_heads(heads, lengths)
        _put(heads, 0, (sizes + (len(self._head) - codecs.RECORD_LENGTH.size)).astype(FRAME_SIZE_TYPE))
        metadata = numpy.ascontiguousarray(heads[:, self._metadata_at : self._digest_at])
        self._put_digests(heads, map(self._checksum, payloads, map(self._checksum, _rows(metadata))))
        return b"".join(chain.from_iterable(zip(_rows(heads), payloads, strict=True)))

    def _put_heads(self, frames: Any, lengths: Any) -> None:
        frames[:, : len(self._head)] = self._head
        _put(frames, self._entry_id_at, numpy.arange(self._first, self._first + len(frames), dtype=INT64))
        _put(frames, self._length_at, lengths.astype(INT64))

    def _put_digests(self, frames: Any, digests: Iterable[int]) -> None:
        size = len(self._head) - self._digest_at
        values = numpy.fromiter(digests, numpy.uint64, len(frames)).astype(f">u{size}")
        _put(frames, self._digest_at, values)


def _put(rows: Any, at: int, column: Any) -> None:
    """Write each integer of ``column`` into its row of ``rows``, at byte ``at``."""
    rows[:, at : at + column.itemsize] = column.view(numpy.uint8).reshape(len(column), column.itemsize)


def _rows(rows: Any) -> list[bytes]:
    """Return each row as bytes of its own."""
    found: list[bytes] = rows.view(f"V{rows.shape[1]}").reshape(-1).tolist()
    return found

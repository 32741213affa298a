"""Ways to damage what a bookie sends: entries with one bit wrong, records that lie about their size."""

from collections.abc import Iterator

from protocol_specs import codecs, fields
from protocol_specs.entry import v1
from protocol_specs.entry.digest import Digest

_METADATA = codecs.derive("entry metadata", v1.ENTRY_METADATA)

METADATA_SIZE = _METADATA.size


def with_bit_flipped(data: bytes, bit: int) -> bytes:
    """The same bytes with one bit the other way; bit 0 is the highest of the first byte, -1 the lowest of the last."""
    place = bit % (len(data) * 8)
    damaged = bytearray(data)
    damaged[place // 8] ^= 0x80 >> place % 8
    return bytes(damaged)


def spans(entry: bytes, digest: Digest) -> dict[str, range]:
    """Where the fields of an entry lie, by name; a digest of no bytes and an empty payload are left out."""
    starts = [*_METADATA.offsets.items(), ("digest", METADATA_SIZE), ("payload", METADATA_SIZE + digest.size)]
    ends = [start for _, start in starts[1:]] + [len(entry)]
    found = {name: range(start, end) for (name, start), end in zip(starts, ends, strict=True)}
    return {name: span for name, span in found.items() if span}


def damaged_copies(entry: bytes, digest: Digest) -> dict[str, bytes]:
    """Copies of an entry, each with the lowest bit of one field flipped, by the name of the field."""
    return {name: with_bit_flipped(entry, 8 * span[-1] + 7) for name, span in spans(entry, digest).items()}


def truncated_copies(entry: bytes, digest: Digest) -> Iterator[bytes]:
    """The beginnings of an entry that are too short to hold metadata and digest, and its payload less one byte."""
    whole = METADATA_SIZE + digest.size
    for size in sorted({0, 1, 8, 16, 24, METADATA_SIZE - 1, METADATA_SIZE, whole - 1}):
        if size < whole:
            yield entry[:size]
    if len(entry) > whole:
        yield entry[:-1]


def record(entry: bytes, size: int | None = None) -> bytes:
    """An entry after its length, as in a batch reply; ``size`` is the length that it claims."""
    return fields.record_length.build(len(entry) if size is None else size) + entry


def pieces(data: bytes, size: int) -> list[bytes]:
    """The bytes in pieces of ``size``, the last one perhaps smaller."""
    return [data[start : start + size] for start in range(0, len(data), size)]

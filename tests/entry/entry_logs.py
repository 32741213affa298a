"""Entry logs as bytes: ours by the bookie's own code, and one as Java's direct I/O writes it."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from bookkeeper_tx.bookie.storage.entry_log_format import header, ledgers_map
from bookkeeper_tx.entry.digest import EntryDigest
from bookkeeper_tx.entry.entry_log_scan import BLOCK_SIZE, FILLER
from bookkeeper_tx.model import DigestType, LedgerId
from protocol_specs.disk import entry_log as spec
from protocol_specs.fields import record_length

DIGEST = EntryDigest(DigestType.CRC32C, b"")
SCOPED_LEDGER = LedgerId(7, 3)

Row = tuple[int, int]
"""Offset and size of a record."""


def record(ledger_id: int, entry_id: int, payload: bytes) -> bytes:
    entry = DIGEST.seal(ledger_id, entry_id, entry_id - 1, len(payload), payload)
    return bytes(record_length.build(len(entry))) + entry


def log_of(records: Sequence[bytes], *, map_of: dict[int, int] | None = None, scoped: bool = False) -> bytes:
    """Return a log, with a map of these ledgers if there is one."""
    body = b"".join(records)
    if map_of is None:
        return header(scoped=scoped) + body
    end = spec.HEADER_SIZE + len(body)
    return header(end, len(map_of), scoped) + body + ledgers_map(map_of, scoped)


def direct_log_of(flushes: Sequence[Sequence[bytes]]) -> bytes:
    """Return a log of direct I/O: a header of a block, hidden from others in an entry of ledger -1, and filler after
    each flush.
    """
    hidden = BLOCK_SIZE - spec.HEADER_SIZE - len(record_length.build(0))
    data = header() + record_length.build(hidden) + (b"\xff" * 8).ljust(hidden, b"\0")
    for records in flushes:
        data += b"".join(records)
        data += bytes([FILLER]) * (-len(data) % BLOCK_SIZE)
    return data


def offsets_of(records: Sequence[bytes], start: int = spec.HEADER_SIZE) -> list[Row]:
    """Return the positions of these records, the first at ``start``."""
    starts = [start]
    for each in records:
        starts.append(starts[-1] + len(each))
    return [(first, end - first) for first, end in pairwise(starts)]


def reader(data: bytes) -> Callable[[int, int], bytes]:
    return lambda offset, count: data[offset : offset + count]

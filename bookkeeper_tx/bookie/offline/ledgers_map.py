"""The ledgers of an entry log, with their bytes: from its map if it has one, else from its records."""

from collections.abc import Iterator

from bookkeeper_tx.bookie.disk import File
from bookkeeper_tx.bookie.offline.log_records import records_of
from bookkeeper_tx.bookie.offline.records import ENTRY, PROBLEM, Record
from bookkeeper_tx.bookie.storage.entry_log_format import (
    LEDGERS_MAP_HEAD,
    LEDGERS_MAP_ROW,
    SCOPED_LEDGERS_MAP_HEAD,
    SCOPED_LEDGERS_MAP_ROW,
)
from bookkeeper_tx.entry.entry_log_scan import Header
from bookkeeper_tx.entry.entry_run import RECORD_LENGTH_SIZE
from bookkeeper_tx.errors import StorageFailed
from protocol_specs.disk import entry_log as spec
from protocol_specs.ledger_id import join


def read_map(file: File, header: Header) -> Iterator[tuple[int, int]]:
    """Give ledger id and bytes of each ledger in the map of a log that has one.  Raises StorageFailed for a bad map."""
    at, left = header.ledgers_map_offset, header.ledgers_map_count
    if at < spec.HEADER_SIZE or left < 0:
        raise StorageFailed(f"entry log {file.path}: its header names a map of {left} ledgers at offset {at}")
    head, row = LEDGERS_MAP_HEAD, LEDGERS_MAP_ROW
    if header.scoped:
        head, row = SCOPED_LEDGERS_MAP_HEAD, SCOPED_LEDGERS_MAP_ROW
    while left > 0:
        data = file.read(head.size + spec.LEDGERS_MAP_BATCH_COUNT_MAX * row.size, at)
        count = _count(data, header, left)
        if count is None:
            raise StorageFailed(f"entry log {file.path}: its ledgers map is damaged at offset {at}")
        for *owner, size in row.iter_fixed(data[head.size : head.size + count * row.size]):
            yield (join(*owner) if header.scoped else owner[0]), size
        left -= count
        at += head.size + count * row.size


def _count(data: bytes, header: Header, left: int) -> int | None:
    """Return how many ledgers a batch of the map has; None if ``data`` does not start with one."""
    head, row = LEDGERS_MAP_HEAD, LEDGERS_MAP_ROW
    if header.scoped:
        head, row = SCOPED_LEDGERS_MAP_HEAD, SCOPED_LEDGERS_MAP_ROW
    if len(data) < head.size:
        return None
    length, *_, ledger_id, entry_id, count = head.unpack_fixed(data)
    if (ledger_id, entry_id) != (spec.LEDGERS_MAP_LEDGER_ID, spec.LEDGERS_MAP_ENTRY_ID):
        return None
    size = head.size + count * row.size
    fits = 0 < count <= left and length == size - RECORD_LENGTH_SIZE and size <= len(data)
    return int(count) if fits else None


def count_ledgers(file: File, header: Header) -> tuple[dict[int, int], list[Record]]:
    """Return the bytes of each ledger among the records of a log, and the problems found on the way."""
    sizes: dict[int, int] = {}
    problems = []
    for record in records_of(file, header):
        if record.kind == ENTRY and record.ledger_id is not None:
            sizes[record.ledger_id] = sizes.get(record.ledger_id, 0) + record.size
        elif record.kind == PROBLEM:
            problems.append(record)
    return sizes, problems

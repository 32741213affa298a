"""The records of one entry log, in order, with their places (docs/formats/entry-log.md)."""

from collections.abc import Iterator
from typing import Final

from bookkeeper_tx.bookie.disk import File
from bookkeeper_tx.bookie.offline.records import ENTRY, Record, problem, read_record
from bookkeeper_tx.entry.entry_log_scan import Header, Problem, stretches
from protocol_specs.disk import entry_log as spec
from protocol_specs.ledger_id import SCOPED_MIN, split

LEDGERS_MAP: Final = "ledgers map"
FILLER: Final = "filler"


def records_of(file: File, header: Header, first: int = 0, end: int | None = None) -> Iterator[Record]:
    """Give the records of a log that lie, in whole or in part, between the offsets ``first`` and ``end``.

    Bytes that are no record are given as a problem; after some of these nothing can be found any more.
    """
    for found in stretches(lambda offset, count: file.read(count, offset), file.size(), end):
        if isinstance(found, Problem):
            if found.offset + found.size > first and (end is None or found.offset < end):
                yield problem(found.offset, found.size, found.text)
            continue
        for at, size in found:
            offset = found.base + at
            if offset + size > first and (end is None or offset < end):
                yield _named(read_record(found.buffer, at, size, offset), header)


def _named(record: Record, header: Header) -> Record:
    """Return the record with the kind that it has in an entry log."""
    ledger_id, entry_id = record.ledger_id, record.entry_id
    if ledger_id is None:
        return record
    if record.kind == ENTRY and header.scoped == (ledger_id >= SCOPED_MIN):
        return record
    if split(ledger_id)[1] == spec.LEDGERS_MAP_LEDGER_ID and record.kind != ENTRY:
        kind = LEDGERS_MAP if entry_id == spec.LEDGERS_MAP_ENTRY_ID else FILLER
        return Record(record.offset, record.size, kind, entry=record.entry)
    text = f"no entry of this log has ledger id {ledger_id} and entry id {entry_id}"
    return problem(record.offset, record.size, text)

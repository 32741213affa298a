"""Where the entries of an entry log lie, run by run: what an index is made of."""

from array import array
from collections.abc import Iterator
from typing import Final

from attrs import frozen

from bookkeeper_tx.bookie.disk import File
from bookkeeper_tx.bookie.offline.entry_logs import LogFile
from bookkeeper_tx.bookie.offline.records import Record, problem
from bookkeeper_tx.bookie.storage.entry_location import location
from bookkeeper_tx.entry.entry_format import V1, V2
from bookkeeper_tx.entry.entry_log_scan import Header, Problem, Stretch, stretches
from protocol_specs.disk import entry_log as spec

ENTRY_ID_END: Final = 1 << 40
"""No entry that was ever added has such an id: its index file would have 8 TiB, and file systems end near that."""

_ZEROS = bytes(V1.metadata.size)


@frozen(eq=False)
class LocatedRun:
    """Consecutive entries of a ledger that are in one log."""

    ledger_id: int
    first_entry_id: int
    locations: "array[int]"


def located_runs(file: File, log: LogFile, header: Header) -> Iterator[LocatedRun | Record]:
    """Give the places of all entries in a log, in the order of the log, and a problem for each place that is none."""
    for found in stretches(lambda offset, count: file.read(count, offset), file.size()):
        if isinstance(found, Problem):
            yield problem(found.offset, found.size, found.text)
        else:
            yield from _runs(found, log.log_id, header.scoped)


def _runs(stretch: Stretch, log_id: int, scoped: bool) -> Iterator[LocatedRun | Record]:
    form = V2 if scoped else V1
    unpack, head_size, buffer = form.head.unpack_fixed, form.head_size, stretch.buffer
    base = location(log_id, stretch.base)
    run: LocatedRun | None = None
    run_owner, next_id = b"", -1
    for at, size in stretch:
        if size < head_size:
            yield problem(stretch.base + at, size, "a record is too short for the ids of an entry")
            continue
        _, owner, entry_id = unpack(buffer, at)
        if run is not None and entry_id == next_id and owner == run_owner:
            run.locations.append(base + at)
            next_id += 1
            continue
        if run is not None:
            yield run
            run = None
        ledger_id = form.ledger_of(owner)
        if entry_id < 0 or ledger_id is None:
            if not _is_known(owner, entry_id, scoped):
                yield problem(stretch.base + at, size, f"no entry has the id {entry_id} and starts with {owner.hex()}")
        elif entry_id >= ENTRY_ID_END:
            yield problem(stretch.base + at, size, f"no index can have entry {entry_id}: the id is damaged")
        elif not scoped and buffer.startswith(_ZEROS, at + head_size - form.ids_size):
            # Entry 0 of ledger 0 has a last add confirmed of -1.
            yield problem(stretch.base + at, size, "zeros in the place of an entry: a crash left them unwritten")
        else:
            run = LocatedRun(ledger_id, entry_id, array("Q", [base + at]))
            run_owner, next_id = owner, entry_id + 1
    if run is not None:
        yield run


def _is_known(owner: bytes, entry_id: int, scoped: bool) -> bool:
    """Tell whether such a record, which is no entry, may be there: a ledgers map, or filler of Java's direct I/O."""
    ledger_id = int.from_bytes(owner[-8:], "big", signed=True)
    return ledger_id == spec.LEDGERS_MAP_LEDGER_ID and (not scoped or entry_id == spec.LEDGERS_MAP_ENTRY_ID)

"""Moving entries from one entry log to another: copies first, then the locations that point to them."""

import errno
from array import array
from collections.abc import Callable, Sequence

from attrs import frozen

from bookkeeper_tx.bookie.disk import out_of_descriptors
from bookkeeper_tx.bookie.storage.checked_pieces import Piece
from bookkeeper_tx.bookie.storage.entry_location import split_location
from bookkeeper_tx.bookie.storage.entry_log import EntryLogWriter, PlacedRun
from bookkeeper_tx.bookie.storage.found_locations import FoundLocations
from bookkeeper_tx.bookie.storage.index_writer import IndexChange
from bookkeeper_tx.bookie.storage.indexes import Indexes, WritesIndexes
from bookkeeper_tx.bookie.storage.ledger_cache import PagePart
from bookkeeper_tx.bookie.storage.ledger_index import page_of
from bookkeeper_tx.bookie.storage.write_cache import part_of
from bookkeeper_tx.entry.entry_run import EntryRun
from protocol_specs.disk.entry_log import NO_LOCATION


@frozen
class Moved:
    """What a move has changed; it is durable."""

    entry_count: int
    """Entries that have another place now."""
    size_bytes: int
    """Bytes of their records."""
    pages: Sequence[PagePart]
    """Their locations."""
    pieces: Sequence[Piece]
    """Entries that are back to back in the new log."""


class IndexNotWritten(OSError):
    """Entries were copied, but an index is broken, so that the copies are of no use."""


class EntryMover:
    """Moves entries of ledgers that have an index.  Calls block, and come from the thread that flushes.

    A crash at any point leaves each location as before or after, and both copies are there: the caller removes the old
    log only when all that was found in it has been moved.  What is found to have another place already has it on the
    disk then.
    """

    def __init__(self, logs: EntryLogWriter, indexes: Indexes, writer: WritesIndexes) -> None:
        self._logs = logs
        self._indexes = indexes
        self._writer = writer

    def move(self, found: Sequence[PlacedRun], is_here: Callable[[int], bool]) -> Moved:
        """Copy those entries whose index points to just these records.  ``is_here`` tells whether a ledger is.

        Raises IndexNotWritten, other OSErrors, StorageFailed; then no location points to bytes that are not on the
        disk.
        """
        alive: dict[int, list[EntryRun]] = {}
        elsewhere: set[tuple[int, int]] = set()
        wanted = [each for each in map(_indexable, found) if each is not None and is_here(each.run.ledger_id)]
        locations = FoundLocations(self._indexes, [each.run for each in wanted])
        for placed in wanted:
            parts = _alive_parts(placed, locations.of(placed.run), elsewhere)
            if parts:
                alive.setdefault(placed.run.ledger_id, []).extend(parts)
        if elsewhere:
            # A move that failed, or a process that was killed, may have left these in the page cache only: on the disk
            # they may still point to the log that is going to be removed.
            self._writer.write_again(sorted(elsewhere))
        if not alive:
            return Moved(0, 0, (), ())
        runs = [
            (ledger_id, sorted(alive[ledger_id], key=lambda run: run.first_entry_id)) for ledger_id in sorted(alive)
        ]
        sizes = [run.size for _, each in runs for run in each]
        self._logs.check_room(sum(sizes))
        count = sum(run.count for _, each in runs for run in each)
        changes = [IndexChange(*each) for each in _changes(self._logs.write(runs))]
        try:
            written = self._writer.write(changes)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT) or out_of_descriptors(error):
                raise
            raise IndexNotWritten(*error.args) from error
        parts_of = zip(runs, written, strict=True)
        return Moved(
            count,
            sum(sizes),
            [PagePart(ledger_id, *part) for (ledger_id, _), each in parts_of for part in each.parts],
            [piece for each in written for piece in each.pieces],
        )


def _alive_parts(placed: PlacedRun, stored: "array[int]", elsewhere: set[tuple[int, int]]) -> list[EntryRun]:
    """Return the parts of a run that its ledger's index points to; ``stored`` has what that says of all entries.

    ``elsewhere`` gets the pages that give an entry a place in another log.
    """
    run = placed.run
    here = array("Q", map(placed.base.__add__, run.offsets[:-1]))
    if stored == here:
        return [run]
    log_id = split_location(here[0])[0]
    for index, place in enumerate(stored):
        if place not in (NO_LOCATION, here[index]) and split_location(place)[0] != log_id:
            elsewhere.add((run.ledger_id, page_of(run.first_entry_id + index)))
    return _matching(run, stored, here)


def _indexable(placed: PlacedRun) -> PlacedRun | None:
    """Return a run without the entries before 0, which no index has; None if there are no others."""
    run = placed.run
    if run.first_entry_id >= 0:
        return placed
    return PlacedRun(run.part(0, run.last_entry_id), placed.base) if run.last_entry_id >= 0 else None


def _matching(run: EntryRun, stored: "array[int]", here: "array[int]") -> list[EntryRun]:
    parts: list[EntryRun] = []
    first = 0
    for index in range(run.count + 1):
        if index == run.count or stored[index] != here[index]:
            if index > first:
                parts.append(part_of(run, run.first_entry_id + first, index - first))
            first = index + 1
    return parts


def _changes(placed: Sequence[tuple[int, list[PlacedRun]]]) -> list[tuple[int, None, list[PlacedRun]]]:
    return [(ledger_id, None, runs) for ledger_id, runs in placed]
